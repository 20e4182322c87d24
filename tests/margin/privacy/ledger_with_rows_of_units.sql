PRAGMA application_id = 1835102823;
BEGIN TRANSACTION;
CREATE TABLE entry (
  sequence INTEGER PRIMARY KEY CHECK (sequence >= 0),
  dataset TEXT NOT NULL,
  action TEXT NOT NULL CHECK (action IN ('create', 'register', 'charge')),
  units INTEGER NOT NULL CHECK (units >= 0),
  detail TEXT NOT NULL,
  salt TEXT NOT NULL,
  head TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "entry" VALUES(0,'eb38a34b2250284fffaea638d119357f','create',0,'margin ledger 2','f2a36a37629725c077bfe6b5998daae9','84bc89386578dce71c4a926b3af9ea2d14dfc84da10029ce7f64219f28179b16');
INSERT INTO "entry" VALUES(1,'8d4166b4dc33dfde2a32d3b84e68b277','register',1000000000000,'{"name": "visits", "statement": {"unit": "id", "bound": "enforced", "rows": 3, "neighbours": "add_remove_row", "budget": {"kind": "zcdp", "rho": "1"}, "domain": null}}','0f4fc3f5121869420cd9d3d811a071a5','3cfa110ce87808f71b50b5d515bcf1fd8dfe2f7c8c6efedbc3368675cf29d800');
INSERT INTO "entry" VALUES(2,'6b7e4ee0a8af874bb521edf9961ed517','register',2000000000000,'{"name": "panel", "statement": {"unit": null, "bound": "declared", "rows": 3, "neighbours": "add_remove_row", "budget": {"kind": "pure", "epsilon": "2"}, "domain": null}}','597d13f28b791240f2924ff5387fe637','f02667be4e39ad8105ed2178749d3414fa4bae772e9417f0ed505ab70de99a70');
INSERT INTO "entry" VALUES(3,'ddff1b65a90c31bd59aed2fd435f51da','register',2000000000000,'{"name": "people", "statement": {"unit": null, "bound": "not needed", "rows": 1, "neighbours": "add_remove_row", "budget": {"kind": "pure", "epsilon": "2"}, "domain": null}}','6d6cbf59c927b91d887d19d3f242ed98','40ee4d88aee885d9384e47a9c04ee1b5754d7f856ab74577ca3b66ce0adcb43a');
INSERT INTO "entry" VALUES(4,'8d4166b4dc33dfde2a32d3b84e68b277','charge',250000000000,'{"statement": {"unit": "id", "bound": "enforced", "rows": 3, "neighbours": "add_remove_row", "budget": {"kind": "zcdp", "rho": "0.25"}, "domain": "sha256:7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c"}, "total_is_public": false, "label": "spring"}','9294bfa3f96d944653d850aa242d2f40','2d07cbdce37619e97b772f1cd97b4a79c9f91d3ff8d19fcfbf3015ee2b4c963a');
INSERT INTO "entry" VALUES(5,'8d4166b4dc33dfde2a32d3b84e68b277','charge',125000000000,'{"statement": {"unit": "id", "bound": "enforced", "rows": 3, "neighbours": "add_remove_row", "budget": {"kind": "pure", "epsilon": "0.5"}, "domain": "sha256:7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c"}, "total_is_public": false}','54a4f7cf62d3582b79884cd70ad03037','dfe26dc9af09b45c8980130b8eeee5e4de4404c3586905e7236843876cd82cf3');
INSERT INTO "entry" VALUES(6,'6b7e4ee0a8af874bb521edf9961ed517','charge',500000000000,'{"statement": {"unit": null, "bound": "declared", "rows": 3, "neighbours": "add_remove_row", "budget": {"kind": "pure", "epsilon": "0.5"}, "domain": "sha256:7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c"}, "total_is_public": false}','93c038dbd91e32c8789057c865c20630','b60e34926a02ef3d8a7b515afe4ef2bd0e9b6c70d37ccf234eb0743c7c0c5fb5');
INSERT INTO "entry" VALUES(7,'ddff1b65a90c31bd59aed2fd435f51da','charge',500000000000,'{"statement": {"unit": null, "bound": "not needed", "rows": 1, "neighbours": "add_remove_row", "budget": {"kind": "pure", "epsilon": "0.5"}, "domain": "sha256:7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c"}, "total_is_public": false}','1ea8f5908378baa8a60098b06ec09f4b','21f84631618edf49a7e440b18cf9404f9eb77d9b35cf78ab751e07d75edc1bc7');
CREATE TRIGGER no_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'append only'); END;
COMMIT;

"""The domains of the published tables, from their publishers' descriptions. The bins of numeric
columns are ours."""

from typing import Any


def _words(text: str) -> list[str]:
    """The words of a text that lists categories or names of columns."""
    return text.split()


ADULT_BINS: dict[str, list[float | None]] = {
    "age": [None, 25, 35, 45, 55, 65, None],
    "fnlwgt": [None, 100_000, 200_000, 300_000, None],
    "education-num": list(range(1, 18)),
    "capital-gain": [None, 1, 5_000, 10_000, None],
    "capital-loss": [None, 1, 1_500, 2_000, None],
    "hours-per-week": [None, 20, 35, 40, 41, 50, None],
}
_ADULT_VALUES = {
    "workclass": (
        "Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov "
        "Without-pay ?"
    ),
    "education": (
        "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate "
        "HS-grad Masters Preschool Prof-school Some-college"
    ),
    "marital-status": (
        "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married "
        "Separated Widowed"
    ),
    "occupation": (
        "Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
        "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
        "Protective-serv Sales Tech-support Transport-moving ?"
    ),
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "native-country": (
        "Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England "
        "France Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India "
        "Iran Ireland Italy Jamaica Japan Laos Mexico Nicaragua Outlying-US(Guam-USVI-etc) Peru "
        "Philippines Poland Portugal Puerto-Rico Scotland South Taiwan Thailand Trinadad&Tobago "
        "United-States Vietnam Yugoslavia ?"
    ),
    "income": "<=50K >50K",
}
_ADULT_ORDER = _words(
    "age workclass fnlwgt education education-num marital-status occupation relationship race "
    "sex capital-gain capital-loss hours-per-week native-country income"
)


def _adult(name: str) -> Any:
    """The declaration of one column of Adult."""
    if name in ADULT_BINS:
        return {"bins": ADULT_BINS[name]}
    return _words(_ADULT_VALUES[name])


ADULT: dict[str, Any] = {name: _adult(name) for name in _ADULT_ORDER}
"""The attributes of Adult, in the order of the publisher's columns."""

_RATE = {"bins": [0, 1, 25, 50, 75, 100, 101]}
_COUNT = {"bins": [0, 1, 2, 5, 10, 50, 100, 200, 512]}
_LARGE = {"bins": [0, 1, 10, 100, 1_000, 10_000, 100_000, None]}
_SMALL = {"bins": [0, 1, 2, 5, None]}
_SERVICES = (
    "aol auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i efs "
    "exec finger ftp ftp_data gopher harvest hostnames http http_2784 http_443 http_8001 imap4 "
    "IRC iso_tsap klogin kshell ldap link login mtp name netbios_dgm netbios_ns netbios_ssn "
    "netstat nnsp nntp ntp_u other pm_dump pop_2 pop_3 printer private red_i remote_job rje "
    "shell smtp sql_net ssh sunrpc supdup systat telnet tftp_u tim_i time urh_i urp_i uucp "
    "uucp_path vmnet whois X11 Z39_50"
)
_LABELS = (
    "back. buffer_overflow. ftp_write. guess_passwd. imap. ipsweep. land. loadmodule. multihop. "
    "neptune. nmap. normal. perl. phf. pod. portsweep. rootkit. satan. smurf. spy. teardrop. "
    "warezclient. warezmaster."
)
_TRAFFIC_RATES = (
    "serror_rate srv_serror_rate rerror_rate srv_rerror_rate same_srv_rate diff_srv_rate "
    "srv_diff_host_rate"
)
_HOST_RATES = (
    "dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate "
    "dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate "
    "dst_host_rerror_rate dst_host_srv_rerror_rate"
)
KDD99: dict[str, Any] = {
    "duration": _LARGE,
    "protocol_type": ["icmp", "tcp", "udp"],
    "service": _words(_SERVICES),
    "flag": _words("OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH"),
    "src_bytes": _LARGE,
    "dst_bytes": _LARGE,
    "land": 2,
    "wrong_fragment": 4,
    "urgent": 4,
    "hot": _SMALL,
    "num_failed_logins": 6,
    "logged_in": 2,
    "num_compromised": _SMALL,
    "root_shell": 2,
    "su_attempted": 3,
    "num_root": _SMALL,
    "num_file_creations": _SMALL,
    "num_shells": 3,
    "num_access_files": _SMALL,
    "num_outbound_cmds": _SMALL,
    "is_host_login": 2,
    "is_guest_login": 2,
    "count": _COUNT,
    "srv_count": _COUNT,
    **dict.fromkeys(_words(_TRAFFIC_RATES), _RATE),
    "dst_host_count": _COUNT,
    "dst_host_srv_count": _COUNT,
    **dict.fromkeys(_words(_HOST_RATES), _RATE),
    "label": _words(_LABELS),
}
"""The attributes of KDD Cup 1999, in the order of the publisher's columns."""

_MUSHROOM_LETTERS = {
    "class": "ep",
    "cap-shape": "bcfksx",
    "cap-surface": "fgsy",
    "cap-color": "bcegnpruwy",
    "bruises": "ft",
    "odor": "acflmnpsy",
    "gill-attachment": "adfn",
    "gill-spacing": "cdw",
    "gill-size": "bn",
    "gill-color": "beghknopruwy",
    "stalk-shape": "et",
    "stalk-root": "bcezru?",
    "stalk-surface-above-ring": "fksy",
    "stalk-surface-below-ring": "fksy",
    "stalk-color-above-ring": "bcegnopwy",
    "stalk-color-below-ring": "bcegnopwy",
    "veil-type": "pu",
    "veil-color": "nowy",
    "ring-number": "not",
    "ring-type": "ceflnpsz",
    "spore-print-color": "bhknoruwy",
    "population": "acnsvy",
    "habitat": "dglmpuw",
}
MUSHROOM: dict[str, Any] = {name: list(letters) for name, letters in _MUSHROOM_LETTERS.items()}
"""The attributes of Mushroom, in the order of the publisher's columns. A letter is a category."""

NURSERY = {
    "parents": ["usual", "pretentious", "great_pret"],
    "has_nurs": ["proper", "less_proper", "improper", "critical", "very_crit"],
    "form": ["complete", "completed", "incomplete", "foster"],
    "children": ["1", "2", "3", "more"],
    "housing": ["convenient", "less_conv", "critical"],
    "finance": ["convenient", "inconv"],
    "social": ["nonprob", "slightly_prob", "problematic"],
    "health": ["recommended", "priority", "not_recom"],
    "class": ["not_recom", "recommend", "very_recom", "priority", "spec_prior"],
}
"""The attributes of Nursery, in the order of the publisher's columns."""

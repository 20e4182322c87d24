// Start the page, and listen to its reader.

element("columns").hidden = false;
typical();
citing();
picker();
element("download").addEventListener("click", () => download(shown.rows, []));
element("download-chosen").addEventListener("click", () => {
  const rows = inOrder();
  download(rows, together(), chosenTogether(rows), chosenLines());
});
element("save-chart").addEventListener("click", () => saveChart("svg"));
element("save-png").addEventListener("click", () => saveChart("png"));
element("print-table").addEventListener("click", printTable);

element("scale").addEventListener("change", (event) => {
  scale = event.target.value;
  chart();
  tell(`The chart shows ${event.target.selectedOptions[0].textContent}.`);
});

element("download-all").hidden = !data.views.some((view) => view.counts) && !data.answers.length;
element("download-all").addEventListener("click", downloadAll);
element("download-meaning").addEventListener("click", downloadMeaning);

element("whole").addEventListener("change", () => {
  within = chosenWhole();
  // Whoever chooses what percentages are of wants to see them.
  if (hasShareEnds()) scale = "share";
  table();
  quote();
  scales();
  chart();
  remember();
  tell(`Percentages of ${wholeName()}. ${linesShown()}`);
});

[element("table").parentElement, element("attributes")].forEach((box) => box.addEventListener("scroll", () => fade(box)));

addEventListener("resize", () => {
  fit();
  fade(element("attributes"));
});

// Paper has no button that opens what is closed.
const printed = ["in-numbers", "quote", "rules", "views-listed"].map(element);

let opened = [];

addEventListener("beforeprint", () => {
  opened = printed.map((part) => part.open);
  printed.forEach((part) => { part.open = !document.body.classList.contains("only-table"); });
});

addEventListener("afterprint", () => printed.forEach((part, place) => { part.open = opened[place]; }));
groups();
held();
if (!arrive()) show();
addEventListener("popstate", travelled);
pictures();

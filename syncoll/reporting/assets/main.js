// Connects the views: a point that is chosen in one is chosen in all.

async function start() {
  const views = [];
  const rows = [...document.querySelectorAll("tr[data-algorithm]")];
  const choose = (number) => {
    rows.forEach((row, i) => row.classList.toggle("chosen", i === number));
    return Promise.all(views.map((view) => view(number)));
  };
  rows.forEach((row, i) => row.addEventListener("click", () => choose(i)));
  const { algorithms, proofs } = data;
  if (data.frontier) views.push(frontierChart(at("frontier-chart"), at("frontier-legend"), choose));
  const network = algorithms.length || proofs.length ? await readNetwork() : null;
  if (algorithms.length) views.push(timesView(choose), await trafficView(network, choose));
  if (proofs.length) {
    const show = proofsView(network);
    views.push((number) => show(algorithms[number]?.steps));
  }
  await choose(0);
  markWide();
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  at("trouble").hidden = false;
  at("trouble").textContent = `The pictures cannot be drawn (${error.message}); the tables and facts are complete. A browser of 2023 or newer is needed.`;
  console.error(error);
});

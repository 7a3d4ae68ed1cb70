// A recording plays in place of its still, and stands still again after another click.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a.recording");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const image = link.querySelector("img"), plays = link.classList.toggle("plays");
  image.dataset.still ??= image.getAttribute("src");
  image.src = plays ? link.getAttribute("href") : image.dataset.still;
  link.querySelector(".play").textContent = plays ? "■ Stop" : "▶ Play";
});

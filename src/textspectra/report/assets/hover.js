// Pointing at a card of the list makes its group stand out on the map, and pointing at the map marks the card.
import { element } from "./data.js";

export function followPointer(state) {
  const list = element("list");
  const nodeOf = (target) => Number(target.closest("[data-node]")?.dataset.node ?? NaN);
  const point = ({ target }) => Number.isNaN(nodeOf(target)) || state.hover(nodeOf(target));
  // A finger does not hover: it opens the group.
  list.addEventListener("pointerover", (event) => event.pointerType === "mouse" && point(event));
  list.addEventListener("focusin", (event) => event.target.matches(":focus-visible") && point(event));
  for (const event of ["pointerleave", "focusout", "click"]) list.addEventListener(event, () => state.hover(null));
  state.onHover((node) => {
    list.querySelector(".pointed")?.classList.remove("pointed");
    list.querySelector(`[data-node="${node}"]`)?.classList.add("pointed");
  });
}

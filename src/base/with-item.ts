/** Returns a list with one more item. An empty list that is pushed to gets room for 17: most of these lists stay at one. */
export function withItem<Item>(list: readonly Item[], item: Item): readonly Item[] {
  return list.length === 0 ? [item] : [...list, item]
}

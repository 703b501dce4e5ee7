import { parseMarkup } from '../base/prices.js'
import type { Markup } from '../contracts/credentials.js'

/** Returns the smaller of two markups, separately for `basisPoints` and `flat`: the one that a user pays. */
export function smallerMarkup(one: Markup, other: Markup): Markup {
  const [first, second] = [parseMarkup(one), parseMarkup(other)]
  const flat = first.flat <= second.flat ? one.flat : other.flat
  return {
    basisPoints: Math.min(one.basisPoints, other.basisPoints),
    ...(flat !== undefined && { flat }),
  }
}

/** Whether a markup is more than the one that a user consented to, in `basisPoints` or in `flat`. */
export function exceedsMarkup(markup: Markup, consented: Markup): boolean {
  const [asked, agreed] = [parseMarkup(markup), parseMarkup(consented)]
  return asked.basisPoints > agreed.basisPoints || asked.flat > agreed.flat
}

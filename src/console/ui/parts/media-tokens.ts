import type { ModelView } from '../../protocol.js'
import { Problem } from '../base/problem.js'
import type { Values } from './dialogs.js'
import { list, wholeNumber } from './read-values.js'

type MediaTokens = ModelView['mediaTokens']

const NAME = 'mediaTokens'

/** Returns one number, or pairs such as `image 1600, pdf 90000`. */
export function mediaTokensText(tokens: MediaTokens): string | undefined {
  if (typeof tokens !== 'object') return tokens?.toString()
  return Object.entries(tokens)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', ')
}

/** Returns the tokens from the text of {@link mediaTokensText}. The server defines the kinds. */
export function readMediaTokens(values: Values): MediaTokens {
  const pairs = list(values, NAME).map((pair) => /^([a-z]+)[\s:]+(\d{1,15})$/i.exec(pair))
  if (pairs.length === 0 || /^\d+$/.test(values.text(NAME) ?? '')) return wholeNumber(values, NAME)
  const found = pairs.filter((pair) => pair !== null)
  if (found.length < pairs.length) {
    throw new Problem('This must be a whole number, or pairs such as image 1600, pdf 90000.', { field: NAME })
  }
  return Object.fromEntries(found.map(([, kind, count]) => [kind!.toLowerCase(), Number(count)]))
}

import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'

/** A citation of the API as an annotation; `undefined` if it has no address. */
export function toAnnotation(citation: unknown): JsonObject | undefined {
  const url = isObject(citation) ? textOf(citation.url) : undefined
  if (!isObject(citation) || url === undefined) return undefined
  const title = textOf(citation.title)
  const content = textOf(citation.cited_text)
  return {
    type: 'url_citation',
    url_citation: {
      url,
      ...(title === undefined ? {} : { title }),
      ...(content === undefined ? {} : { content }),
    },
  }
}

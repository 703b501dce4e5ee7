import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'

/** Converts a citation of the API to an annotation. Returns undefined if it has no URL. */
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

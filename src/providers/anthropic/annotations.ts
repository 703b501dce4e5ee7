import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { urlCitation } from '../../protocol/url-citation.js'

/** Converts a citation of the API to an annotation. Returns undefined if it has no URL. */
export function toAnnotation(citation: unknown): JsonObject | undefined {
  const url = isObject(citation) ? textOf(citation.url) : undefined
  if (!isObject(citation) || url === undefined) return undefined
  return urlCitation(url, { title: citation.title, content: citation.cited_text })
}

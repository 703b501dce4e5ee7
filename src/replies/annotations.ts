import { isObject, isText, type JsonObject } from '../protocol/json-values.js'
import type { Losses } from './losses.js'

/** Members that a citation has at the top in some providers' replies. */
const OWN = ['url', 'title', 'content', 'start_index', 'end_index']

/**
 * Completes citations: strict clients reject a whole reply if one lacks its title, or the place in the text to which it
 * belongs. Entries of other types stay as they are.
 */
export function mendAnnotations(fields: JsonObject, losses: Losses): void {
  const { annotations } = fields
  if (!Array.isArray(annotations)) {
    delete fields.annotations
    if (annotations !== null) losses.mend('member-dropped', 'annotations')
    return
  }
  const objects = annotations.filter(isObject)
  if (objects.length < annotations.length) losses.mend('member-dropped', 'annotations')
  if (objects.length === 0) {
    delete fields.annotations
    return
  }
  fields.annotations = objects.map((annotation) => {
    const citation = completeCitation(annotation)
    if (citation === undefined) return annotation
    losses.mend('annotation-completed')
    return citation
  })
}

/** Undefined if the annotation is complete, or is no citation of an address. */
function completeCitation(annotation: JsonObject): JsonObject | undefined {
  const { type, url_citation: nested, ...rest } = annotation
  if (type !== undefined && type !== null && type !== 'url_citation') return undefined
  const given = isObject(nested) ? nested : rest
  const { end_index: end, start_index: start, title, url } = given
  if (!isText(url)) return undefined
  const isWhole = typeof title === 'string' && typeof start === 'number' && typeof end === 'number'
  if (isWhole && type === 'url_citation' && given === nested) return undefined
  const others =
    given === nested ? rest : Object.fromEntries(Object.entries(rest).filter(([name]) => !OWN.includes(name)))
  const own =
    given === nested
      ? nested
      : Object.fromEntries(OWN.flatMap((name) => (name in rest ? [[name, rest[name]]] : [])))
  return {
    ...others,
    type: 'url_citation',
    url_citation: {
      ...own,
      title: typeof title === 'string' ? title : url,
      start_index: placeOf(start),
      end_index: placeOf(end),
    },
  }
}

function placeOf(index: unknown): number {
  const place = Number(index ?? 0)
  return Number.isInteger(place) && place >= 0 ? place : 0
}

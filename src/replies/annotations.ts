import type { Members } from '../conversation/delta.js'
import { isObject, isText, type JsonObject } from '../protocol/json-values.js'
import { urlCitation } from '../protocol/url-citation.js'
import type { Losses } from './losses.js'

/** Members that some providers put beside the type of a citation instead of inside it. */
const FLAT = new Set(['url', 'title', 'content', 'start_index', 'end_index'])

/**
 * Completes the citations of a delta or message. Drops entries without a source, and entries of types for which clients
 * would reject the whole reply.
 */
export function mendAnnotations(fields: JsonObject, losses: Losses): void {
  const { annotations } = fields
  if (annotations === null) {
    delete fields.annotations
    return
  }
  const given = Array.isArray(annotations) ? annotations : []
  const kept = given.filter(hasSource)
  if (kept.length < given.length || given !== annotations) losses.mend('member-dropped', 'annotations')
  if (kept.length === 0) delete fields.annotations
  else fields.annotations = kept.map((annotation) => complete(annotation, losses))
}

/** Returns a citation that is completed in the same way. Undefined if clients could not read it. */
export function readableAnnotation(annotation: Members, losses: Losses): Members | undefined {
  if (hasSource(annotation)) return complete(annotation, losses)
  losses.mend('member-dropped', 'annotations')
  return undefined
}

function isCitation({ type }: JsonObject): boolean {
  return type === undefined || type === null || type === 'url_citation'
}

function hasSource(annotation: unknown): annotation is JsonObject {
  if (!isObject(annotation)) return false
  if (isCitation(annotation)) return isText(sourceOf(annotation).url)
  const { type } = annotation
  if (!isText(type)) return false
  const [members, file] = [FILES.get(type), annotation[type]]
  return members !== undefined && isObject(file) && members.every((name) => isText(file[name]))
}

/** OpenRouter's annotations about files that it has read, by the members that they need. Clients send them back. */
const FILES: ReadonlyMap<string, readonly string[]> = new Map([
  ['file', ['hash', 'name']],
  ['file_annotation', ['file_id']],
])

function sourceOf(annotation: JsonObject): JsonObject {
  return isObject(annotation.url_citation) ? annotation.url_citation : annotation
}

function complete(annotation: JsonObject, losses: Losses): JsonObject {
  if (!isCitation(annotation)) return annotation
  const source = sourceOf(annotation)
  const { end_index: end, start_index: start, title, url } = source
  const isNested = source !== annotation
  const isWhole = typeof title === 'string' && typeof start === 'number' && typeof end === 'number'
  if (isNested && isWhole && annotation.type === 'url_citation') return annotation
  losses.mend('annotation-completed')
  const { url_citation: citation, ...made } = urlCitation(url as string, source)
  const others = Object.entries(annotation).filter(([name]) => isNested || !FLAT.has(name))
  return {
    ...Object.fromEntries(others),
    ...made,
    url_citation: isNested ? { ...source, ...(citation as JsonObject) } : citation,
  }
}

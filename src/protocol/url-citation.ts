import { isText, type JsonObject } from './json-values.js'

/**
 * Returns an annotation for a source of a reply. Strict clients reject a reply whose citation lacks a title or a
 * position in the text. If the position is unknown, it is the start.
 */
export function urlCitation(url: string, { content, end_index, start_index, title }: JsonObject): JsonObject {
  return {
    type: 'url_citation',
    url_citation: {
      url,
      title: isText(title) ? title : url,
      start_index: placeOf(start_index),
      end_index: placeOf(end_index),
      ...(isText(content) && { content }),
    },
  }
}

function placeOf(index: unknown): number {
  const place = Number(index ?? 0)
  return Number.isInteger(place) && place >= 0 ? place : 0
}

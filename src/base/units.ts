/**
 * The kinds of tokens besides text that are counted and priced separately. A new kind is a row of this table, with a
 * migration that adds its column to `entries` and its parameter to `apply_ledger`. The order matters: if the counts of a
 * side exceed its total, the later ones are reduced.
 */
export const MEDIA_UNITS = [
  { name: 'audioInput', side: 'input', kind: 'audio', wire: 'audio_tokens', column: 'audio_input' },
  { name: 'audioOutput', side: 'output', kind: 'audio', wire: 'audio_tokens', column: 'audio_output' },
  { name: 'imageInput', side: 'input', kind: 'image', wire: 'image_tokens', column: 'image_input' },
  { name: 'imageOutput', side: 'output', kind: 'image', wire: 'image_tokens', column: 'image_output' },
] as const

export type MediaUnit = (typeof MEDIA_UNITS)[number]

/** The name of a unit's count in a usage, and of its price. */
export type MediaName = MediaUnit['name']

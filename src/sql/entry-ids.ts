/** The largest id has 19 digits. A repeat compares ids as text, so an id has one spelling. */
const ENTRY_ID_PATTERN = /^[1-9]\d{0,17}$/
/** No entry has this id. */
const NO_ENTRY = -1n

export function isEntryId(text: string): boolean {
  return ENTRY_ID_PATTERN.test(text)
}

/** Returns the cell of an entry's id. No entry has it if the text is not such an id. */
export function toEntryIdCell(text: string): bigint {
  return isEntryId(text) ? BigInt(text) : NO_ENTRY
}

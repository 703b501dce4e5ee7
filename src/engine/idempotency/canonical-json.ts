/** JSON in which the order of fields makes no difference. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_field, field: unknown) => {
    if (typeof field !== 'object' || field === null || Array.isArray(field)) return field
    return Object.fromEntries(Object.entries(field).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}

/** Matches the next string or number of a JSON text. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Parses JSON and keeps every number as text, so that an amount keeps each of its digits. */
export function parseExactly(json: string): unknown {
  return JSON.parse(json.replace(TOKEN, (token) => (token.startsWith('"') ? token : `"${token}"`)))
}

/** Rewrites a number without an exponent: `1.5e-7` is `0.00000015`. */
export function plainDecimal(text: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d+)$/.exec(text)
  if (match === null) return text
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return `${sign}${digits}${'0'.repeat(point - digits.length)}`
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

/** Returns the first number of a JSON text that a JavaScript number cannot hold exactly. */
export function inexactNumber(json: string): string | undefined {
  return json.match(TOKEN)?.find((token) => {
    if (token.startsWith('"')) return false
    const value = Number(token)
    return !Number.isFinite(value) || canonical(token) !== canonical(String(value))
  })
}

/** Returns the same text for equal values: the significant digits and the position of the point. */
function canonical(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const point = digits.length - fraction.length + Number(exponent)
  return digits === '' ? '0' : `${sign}${digits.replace(/0+$/, '')}e${point}`
}

const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bFirefox\//, 'Firefox'],
  [/\bEdg\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bChrome\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'Mac'],
  [/\bLinux\b/, 'Linux'],
]

/** Names the browser of a request, so that its user recognises the device later: `Firefox on Windows`. */
export function deviceOf(userAgent: string | undefined): string | undefined {
  const find = (names: typeof BROWSERS): string | undefined =>
    names.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1]
  const browser = find(BROWSERS)
  const system = find(SYSTEMS)
  return browser === undefined || system === undefined ? (browser ?? system) : `${browser} on ${system}`
}

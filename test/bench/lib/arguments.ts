/** Returns a whole number of at least `least`, or throws an error that names the option. */
export function readNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (Number.isFinite(value) && value >= least) return value
  throw new Error(`--${name} must be a number of at least ${least}; got ${JSON.stringify(text)}`)
}

/** Names separated by commas. */
export function readNames(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** The requested names, in the given order. Throws for an unknown one. */
export function choose<Item extends { name: string }>(
  option: string,
  items: readonly Item[],
  names: string | undefined,
): Item[] {
  if (names === undefined) return [...items]
  return readNames(names).map((name) => {
    const found = items.find((item) => item.name === name)
    if (found !== undefined) return found
    const known = items.map((item) => item.name).join(', ')
    throw new Error(`--${option}: unknown name ${JSON.stringify(name)}; known are ${known}`)
  })
}

/** Reports a step on stderr, which is not part of the tables. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Runs a bench program. An error is printed as one line and ends it. */
export function runMain(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    say(error instanceof Error ? error.message : String(error))
    process.exit(1)
  })
}

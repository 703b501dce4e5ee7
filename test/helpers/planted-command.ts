import { type ParseArgsConfig, parseArgs } from 'node:util'

/** The arguments of a command. */
export interface PlantedCommand<Plant> {
  /** The values of the command's own options. */
  readonly values: Readonly<Record<string, string | undefined>>
  /** A whole number. The time, unless `--seed` was given. */
  readonly seed: string
  readonly plant: Plant | undefined
  readonly traces: boolean
}

/**
 * Reads the arguments of a command that plays seeded runs and can plant bugs: `--seed`, `--plant`, `--plants`, `--trace`,
 * `--help`, and its own options, which take a text. Returns undefined if it has printed the help or the plants. Throws a
 * `TypeError` that names the wrong argument.
 */
export function readPlantedCommand<Plant extends { readonly name: string }>(
  help: string,
  plants: readonly Plant[],
  own: readonly string[],
): PlantedCommand<Plant> | undefined {
  const options: NonNullable<ParseArgsConfig['options']> = {
    seed: { type: 'string' },
    plant: { type: 'string' },
    plants: { type: 'boolean' },
    trace: { type: 'boolean' },
    help: { type: 'boolean' },
    ...Object.fromEntries(own.map((name) => [name, { type: 'string' }])),
  }
  const given = parseArgs({ options }).values as Record<string, unknown>
  if (given.help === true) {
    process.stdout.write(help)
    return undefined
  }
  if (given.plants === true) {
    process.stdout.write(`${plants.map(({ name }) => name).join('\n')}\n`)
    return undefined
  }
  const plant = plants.find(({ name }) => name === given.plant)
  if (given.plant !== undefined && plant === undefined) {
    throw new TypeError(`Unknown plant '${given.plant}'; --plants lists them.`)
  }
  const seed = String(given.seed ?? Math.floor(Date.now() / 1_000))
  if (!/^\d{1,30}$/.test(seed)) throw new TypeError('--seed must be a whole number.')
  const values = Object.fromEntries(own.map((name) => [name, given[name] as string | undefined]))
  return { values, seed, plant, traces: given.trace === true }
}

/** Reads a whole number of at least `min`. Throws a `TypeError` that names the option. */
export function wholeNumber(name: string, text: string | undefined, byDefault: number, min = 0): number {
  const number = Number(text ?? byDefault)
  if (Number.isSafeInteger(number) && number >= min) return number
  throw new TypeError(`--${name} must be a whole number of at least ${min}; got '${text}'.`)
}

import { readFileSync, writeFileSync } from 'node:fs'
import { type Cell, keyOf, type Verdict } from './table.js'

const FILE = new URL('known-faults.json', import.meta.url)
const SYMPTOM = 160

/** The cells that fail today, by the names of their shapes: from where to where, and with what. */
type Marks = Readonly<Record<string, Readonly<Record<string, string>>>>

const placeOf = ({ api, form, to }: Cell) => `${api} > ${to}, ${form}`

/** A fault without the names that differ from cell to cell. */
const symptomOf = ({ cell, faults }: Verdict) =>
  (faults[0] ?? '').replaceAll(keyOf(cell), 'the model').slice(0, SYMPTOM)

export class KnownFaults {
  private constructor(private readonly marks: Marks) {}

  static read(): KnownFaults {
    return new KnownFaults(JSON.parse(readFileSync(FILE, 'utf8')) as Marks)
  }

  /** Marks exactly the cells that fail. */
  static write(verdicts: readonly Verdict[]): void {
    const marks: Record<string, Record<string, string>> = {}
    const failed = verdicts.filter(({ faults }) => faults.length > 0)
    for (const verdict of failed.sort((one, other) => (keyOf(one.cell) < keyOf(other.cell) ? -1 : 1))) {
      const { shape } = verdict.cell
      marks[shape.name] ??= {}
      marks[shape.name]![placeOf(verdict.cell)] = symptomOf(verdict)
    }
    writeFileSync(FILE, `${JSON.stringify(marks, null, 2)}\n`)
  }

  has(cell: Cell): boolean {
    return this.marks[cell.shape.name]?.[placeOf(cell)] !== undefined
  }

  /** The marks that name no cell. */
  strays(cells: readonly Cell[]): string[] {
    const places = new Set(cells.map((cell) => `${cell.shape.name}: ${placeOf(cell)}`))
    return Object.entries(this.marks)
      .flatMap(([name, marks]) => Object.keys(marks).map((place) => `${name}: ${place}`))
      .filter((place) => !places.has(place))
  }
}

/** Sentences about the cells that fail without a mark, and about those that pass with one. */
export function complaints(verdicts: readonly Verdict[], known: KnownFaults): string[] {
  return verdicts.flatMap((verdict) => {
    const { cell, faults } = verdict
    const way = `${cell.shape.name}, from a client of ${cell.api} to ${cell.to} (${cell.form})`
    if (faults.length === 0)
      return known.has(cell) ? [`${way} passes: take its mark out of known-faults.json`] : []
    return known.has(cell) ? [] : faults.map((fault) => `${way}: ${fault}`)
  })
}

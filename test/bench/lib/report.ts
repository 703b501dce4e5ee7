import type { Column, Sample, Scenario } from './scenarios.js'
import { ratios, type Spread, spreadOf } from './statistics.js'
import { markdownTable } from './table.js'
import type { Verdict } from './targets.js'

/** All samples of a scenario, by system and round. */
export interface ScenarioReport {
  readonly scenario: string
  readonly title: string
  readonly samples: Readonly<Record<string, readonly Sample[]>>
}

/** The base of ratios: the bare pipe, or else the first system of the run. */
export function referenceOf(systems: readonly string[]): string {
  return systems.includes('pipe') ? 'pipe' : systems[0]!
}

/** The table of one scenario: medians, and ratios with their smallest and largest. */
export function scenarioTable(scenario: Scenario, { samples }: ScenarioReport): string {
  const systems = Object.keys(samples)
  const reference = referenceOf(systems)
  const head = ['system', ...scenario.columns.flatMap((column) => headOf(column, reference)), 'errors']
  const rows = systems.map((system) => [
    system,
    ...scenario.columns.flatMap((column) => cellsOf(column, samples[system]!, samples[reference]!)),
    errorsOf(samples[system]!),
  ])
  return markdownTable(head, rows)
}

function headOf({ title, compared }: Column, reference: string): string[] {
  if (compared === undefined) return [title]
  return [title, compared === 'ratio' ? `to ${reference}` : `over ${reference}`]
}

function cellsOf(
  { metric, digits, compared }: Column,
  samples: readonly Sample[],
  references: readonly Sample[],
): string[] {
  const values = samples.map((sample) => sample[metric])
  const own = format(spreadOf(values).median, digits)
  if (compared === undefined) return [own]
  const others = references.map((sample) => sample[metric])
  if (compared === 'ratio') return [own, formatSpread(spreadOf(ratios(values, others)), 2)]
  return [own, formatSpread(spreadOf(values.map((value, round) => value - others[round]!)), digits)]
}

function errorsOf(samples: readonly Sample[]): string {
  const errors = samples.reduce((sum, sample) => sum + sample.errors, 0)
  const first = samples.find((sample) => sample.firstError !== undefined)?.firstError
  return first === undefined ? String(errors) : `${errors} (${first})`
}

export function verdictTable(verdicts: readonly Verdict[]): string {
  return markdownTable(
    ['goal for the router on bare http', 'measured', 'floor', 'aim', ''],
    verdicts.map(({ goal, value, verdict }) => {
      const sign = goal.better === 'higher' ? '≥' : '≤'
      const aim = goal.aim === undefined ? '' : `${sign} ${goal.aim}`
      return [goal.what, format(value, 2), `${sign} ${goal.floor}`, aim, verdict]
    }),
  )
}

export function format(value: number, digits: number): string {
  if (!Number.isFinite(value)) return '–'
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export function formatSpread({ median, min, max }: Spread, digits: number): string {
  if (!Number.isFinite(median)) return '–'
  return `**${format(median, digits)}** (${format(min, digits)} to ${format(max, digits)})`
}

import { APIS, FORMS, type Shape, TARGETS } from '../shape.js'
import { type Cell, isSent, Table, type Verdict } from '../table.js'
import { settled } from './mutate.js'
import { type Plan, planConversation } from './plan.js'

/** Conversations that are played at once. Each has accounts and models of its own, one for each kind of provider. */
const AT_ONCE = 4
const nameOf = (place: number) => `at-${place}`

/** A conversation that failed, and how it did. */
export interface Failure {
  readonly seed: string
  readonly plan: Plan
  readonly verdict: Verdict
}

/** Plays conversations by their seeds. */
export class Player {
  private constructor(private readonly table: Table) {}

  static async start(): Promise<Player> {
    const places = Array.from({ length: AT_ONCE }, (_, place) => nameOf(place))
    const shapes = places.flatMap((name): Shape[] => [
      { name, turns: [] },
      { name, turns: [], next: {} },
      { name, turns: [], next: { elsewhere: true } },
    ])
    const cells = shapes.flatMap((shape) =>
      APIS.flatMap((api) => TARGETS.flatMap((to) => FORMS.map((form): Cell => ({ shape, api, to, form })))),
    )
    return new Player(await Table.startQuickly(cells))
  }

  /** Plays all seeds, several at once, and awaits `onFailure` for each failure. Returns the number of cells. */
  async play(
    seeds: Iterable<string>,
    onFailure: (failure: Failure) => Promise<void> | void,
  ): Promise<number> {
    const left = seeds[Symbol.iterator]()
    let cells = 0
    const playOn = async (place: number): Promise<void> => {
      for (let { done, value: seed } = left.next(); !done; { done, value: seed } = left.next()) {
        const plan = planConversation(seed, nameOf(place))
        const verdicts = await this.verdictsOf(plan)
        cells += verdicts.length
        for (const verdict of verdicts.filter(({ faults }) => faults.length > 0))
          await onFailure({ seed, plan, verdict })
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, (_, place) => playOn(place)))
    return cells
  }

  async verdictsOf({ api, form, shape }: Plan): Promise<readonly Verdict[]> {
    const cells = TARGETS.map((to): Cell => ({ shape, api, to, form }))
    return Promise.all(cells.filter(isSent).map((cell) => this.table.judge(cell)))
  }

  /** What the providers of a verdict were asked. */
  askedBy({ cell }: Verdict): readonly string[] {
    return this.table.askedBy(cell).map(({ raw, refusal }) => `${raw}\n${refusal?.text ?? 'accepted'}`)
  }

  /** The smallest conversation that fails in the same way, and how, played last. */
  async shrunk({ plan, verdict: { cell, faults } }: Failure): Promise<{ shape: Shape; verdict: Verdict }> {
    const kind = kindOf(faults[0]!)
    let smallest = plan.shape
    for (let isSmaller = true; isSmaller; ) {
      isSmaller = false
      for (const candidate of smaller(smallest)) {
        const shape = settled(candidate, plan.api)
        if (JSON.stringify(shape).length >= JSON.stringify(smallest).length) continue
        const verdict = await this.table.judge({ ...cell, shape })
        if (verdict.faults.length === 0 || kindOf(verdict.faults[0]!) !== kind) continue
        smallest = shape
        isSmaller = true
        break
      }
    }
    return { shape: smallest, verdict: await this.table.judge({ ...cell, shape: smallest }) }
  }

  async close(): Promise<void> {
    await this.table.close()
  }
}

/** A failure with the seed that plays it again. */
export const lineOf = ({ seed, verdict: { cell, faults } }: Failure): string =>
  `${seed}: ${cell.api} > ${cell.to}, ${cell.form}: ${faults.join('; ').slice(0, 400)}`

/** A fault without what differs from conversation to conversation. */
export const kindOf = (fault: string): string =>
  fault
    .replaceAll(/at-\d[\w.-]*/g, 'the model')
    .replaceAll(/'[^']*'/g, "'…'")
    .replaceAll(/\d+/g, '0')
    .slice(0, 120)

function* smaller(shape: Shape): Iterable<Shape> {
  const { next, says, settings = {}, tools = [], turns, ...rest } = shape
  if (next !== undefined) yield { ...rest, turns, tools, settings, ...(says && { says }) }
  if (says !== undefined) yield { ...rest, turns, tools, settings, ...(next && { next }) }
  const kept = { ...(says && { says }), ...(next && { next }) }
  for (const at of turns.keys()) {
    const left = turns.filter((_, index) => index !== at)
    if (left.length > 0) yield { ...rest, ...kept, tools, settings, turns: left }
  }
  for (const [at, turn] of turns.entries()) {
    for (const less of smallerTurns(turn)) {
      yield { ...rest, ...kept, tools, settings, turns: turns.with(at, less) }
    }
  }
  for (const name of Object.keys(settings)) {
    const { [name as keyof typeof settings]: _, ...fewer } = settings
    yield { ...rest, ...kept, turns, tools, settings: fewer }
  }
  for (const at of tools.keys())
    yield { ...rest, ...kept, turns, settings, tools: tools.filter((_, index) => index !== at) }
}

type Turn = Shape['turns'][number]

function* smallerTurns(turn: Turn): Iterable<Turn> {
  if ('user' in turn && typeof turn.user !== 'string') {
    const parts = turn.user
    for (const at of parts.keys())
      if (parts.length > 1) yield { user: parts.filter((_, index) => index !== at) }
  } else if ('results' in turn && turn.results.length > 1) {
    for (const at of turn.results.keys()) yield { results: turn.results.filter((_, index) => index !== at) }
  } else if (!('native' in turn) && 'assistant' in turn && turn.assistant.length > 1) {
    for (const at of turn.assistant.keys())
      yield { assistant: turn.assistant.filter((_, index) => index !== at) }
  }
}

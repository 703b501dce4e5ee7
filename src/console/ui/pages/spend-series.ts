import type { SpendBy, SpendOverTimeReply } from '../../protocol.js'
import { formatCount } from '../base/format.js'
import type { ChartSeries } from '../parts/chart.js'

export type By = Exclude<SpendBy, 'day'>
export type Split = By | 'none'

export const NONE: Readonly<Record<By, string>> = {
  model: 'no model',
  app: 'without an app',
  key: 'no key',
  account: 'no account',
  provider: 'no provider',
}

export type Measure = 'cost' | 'calls' | 'tokens'

interface Figures {
  readonly calls: number
  readonly cost: string
  readonly tokens: number
}

const textOf = (figures: Figures | undefined, measure: Measure): string =>
  measure === 'cost' ? (figures?.cost ?? '0') : formatCount(figures?.[measure] ?? 0)

/** The charges of each group, the largest at the bottom; or of all, in the parts of an amount or of tokens. */
export function seriesOf(reply: SpendOverTimeReply, split: Split, measure: Measure): readonly ChartSeries[] {
  const { groups, parts, steps } = reply
  if (split === 'none') {
    const whole = (name: string, figures: readonly (string | number)[]): ChartSeries => ({
      name,
      values: figures.map(Number),
      figureAt: (step) => {
        const figure = figures[step]!
        return typeof figure === 'string' ? figure : formatCount(figure)
      },
    })
    const ways: Readonly<Record<Measure, () => readonly ChartSeries[]>> = {
      cost: () => [
        whole(
          'Base',
          steps.map(({ base }) => base),
        ),
        whole(
          'Markup',
          steps.map(({ markup }) => markup),
        ),
      ],
      calls: () => [
        whole(
          'Calls',
          steps.map(({ calls }) => calls),
        ),
      ],
      tokens: () => [
        whole(
          'In',
          steps.map(({ usage }) => usage.prompt),
        ),
        whole(
          'Out',
          steps.map(({ usage }) => usage.completion),
        ),
      ],
    }
    return ways[measure]()
  }
  const partOf = (group: number | undefined) => {
    const own = new Map(parts.filter((part) => part.group === group).map((part) => [part.step, part]))
    return {
      values: steps.map((_, step) => Number(own.get(step)?.[measure] ?? 0)),
      figureAt: (step: number) => textOf(own.get(step), measure),
    }
  }
  const hasOthers = parts.some(({ group }) => group === undefined)
  return [
    ...groups.map(({ key, name }, group) => ({ name: name ?? key ?? NONE[split], ...partOf(group) })),
    ...(hasOthers ? [{ name: 'All others', isRest: true, ...partOf(undefined) }] : []),
  ]
}

export function totalOf({ steps }: SpendOverTimeReply, measure: Measure): ChartSeries {
  const figures = steps.map(({ calls, cost, usage }) => ({
    calls,
    cost,
    tokens: usage.prompt + usage.completion,
  }))
  return {
    name: 'Total',
    values: figures.map((figure) => Number(figure[measure])),
    figureAt: (step) => textOf(figures[step], measure),
  }
}

export function beforeOf({ before, steps }: SpendOverTimeReply, measure: Measure): ChartSeries | undefined {
  if (before.total.calls === 0) return undefined
  const own = new Map(before.steps.map((figures) => [figures.step, figures]))
  return {
    name: 'Period before',
    values: steps.map((_, step) => Number(own.get(step)?.[measure] ?? 0)),
    figureAt: (step) => textOf(own.get(step), measure),
  }
}

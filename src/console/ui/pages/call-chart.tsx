import type { CallsOverTimeReply, QueryOf } from '../../protocol.js'
import { pathOf } from '../base/api.js'
import { capitalized, formatCount, formatDuration } from '../base/format.js'
import { changeQuery, hrefOf, type Place } from '../base/place.js'
import { isOperator, useSession } from '../base/session.js'
import { type Loaded, useLoad } from '../base/use-load.js'
import { Button, Choice, Time } from '../parts/basics.js'
import { Chart, type ChartSeries } from '../parts/chart.js'
import { Before } from '../parts/comparison.js'
import { RangeChoice } from '../parts/range-choice.js'
import { rangeQueryOf, rangeText, STEP_NAMES, stepText } from '../parts/steps.js'
import { type Column, Table, TableHead } from '../parts/table.js'
import { keptQuestionOf } from './call-filters.js'
import { NONE } from './spend-series.js'

type By = NonNullable<QueryOf<'calls/over-time'>['by']>
type Split = By | 'none'
type Step = CallsOverTimeReply['steps'][number]
type Figures = Pick<Step, 'calls' | 'failures'> & Partial<Pick<Step, 'firstTokenMs' | 'durationMs'>>

const SPLITS: readonly { readonly value: Split; readonly label: string }[] = [
  { value: 'none', label: 'All' },
  { value: 'outcome', label: 'Code' },
  { value: 'provider', label: 'Provider' },
  { value: 'model', label: 'Model' },
  { value: 'key', label: 'Key' },
  { value: 'app', label: 'App' },
  { value: 'account', label: 'Account' },
]

const NO_GROUP: Readonly<Record<By, string>> = { ...NONE, outcome: 'no code' }

type Measure = 'calls' | 'failures' | 'firstTokenMs' | 'durationMs'

const isLatency = (measure: Measure): boolean => measure === 'firstTokenMs' || measure === 'durationMs'

const MEASURES: readonly { readonly value: Measure; readonly label: string }[] = [
  { value: 'calls', label: 'Calls' },
  { value: 'failures', label: 'Failures' },
  { value: 'firstTokenMs', label: 'First token' },
  { value: 'durationMs', label: 'Duration' },
]

/** What the chart of kept calls shows, as the address says. */
export function chartOf(query: Place['query'], isProblems: boolean) {
  const split = SPLITS.find(({ value }) => value === query.by)?.value ?? (isProblems ? 'outcome' : 'none')
  const measure: Measure = isProblems
    ? 'failures'
    : (MEASURES.find(({ value }) => value === query.measure)?.value ?? 'calls')
  const { id: _, ...filters } = keptQuestionOf(query, isProblems)
  const question = {
    ...rangeQueryOf(query),
    ...filters,
    by: split === 'none' ? undefined : split,
    rank: measure === 'failures' ? measure : ('calls' as const),
    latency: isLatency(measure) ? ('true' as const) : undefined,
  }
  return { split, measure, question }
}

/** The step that was chosen in the chart. */
export function chosenStep({ at }: Place['query'], reply: CallsOverTimeReply | undefined): Step | undefined {
  return reply?.steps.find(({ from }) => String(from) === at)
}

export function useCallChart(query: Place['query'], isProblems: boolean): Loaded<CallsOverTimeReply> {
  return useLoad('calls/over-time', chartOf(query, isProblems).question)
}

/** Kept calls over time. A step leads to its calls in the table below. */
export function CallChart(props: { query: Place['query']; isProblems: boolean; reply: CallsOverTimeReply }) {
  const { query, isProblems, reply } = props
  const { measure, question, split } = chartOf(query, isProblems)
  const { steps } = reply
  const times = { from: steps[0]!.from, to: steps.at(-1)!.to }
  const name = STEP_NAMES[reply.length]
  const ofEach = split === 'none' ? name : `${name} and ${split === 'outcome' ? 'code' : split}`
  const isTime = isLatency(measure)
  const series = seriesOf(reply, split, measure)
  const unit = isTime ? 'ms' : measure
  const total = split === 'none' || isTime ? undefined : seriesFor('Total', steps, measure)
  return (
    <>
      <p class="hint">
        {rangeText(reply, times)}: {callsText(isProblems ? reply.failures : reply.calls)}
        {isProblems ? '' : `, ${formatCount(reply.failures)} of which`} failed, were refused, or were left by
        their clients
        {reply.before !== undefined && (
          <>
            ; <Before of={String(reply.failures)} before={String(reply.before.failures)} />
          </>
        )}
        . Times are in {reply.zone}.
        {reply.since !== undefined && (
          <>
            {' '}
            Only the newest {formatCount(reply.calls)} calls are counted, since{' '}
            <Time at={reply.since} zone={reply.zone} />.
          </>
        )}
        {reply.oldest !== undefined && reply.oldest > times.from && (
          <>
            {' '}
            The oldest call that is kept ended on <Time at={reply.oldest} zone={reply.zone} />: calls are kept
            for 30 days, unless the host says otherwise.
          </>
        )}
        {isTime && split !== 'none' && ' Each line is the time that half of the calls took at most.'}
      </p>
      <Chart
        steps={steps.map((step) => stepText(reply, step))}
        series={series}
        isLines={isTime}
        total={total}
        before={split === 'none' && !isTime ? beforeOf(reply, measure) : undefined}
        unit={unit}
        description={`${capitalized(unit)} by ${ofEach}. The arrow keys read each ${name}, and Enter shows its calls.`}
        onChoose={(step) => changeQuery({ at: String(steps[step]!.from) })}
      />
      <details class="figures-table">
        <summary>Figures by {ofEach}</summary>
        <TableHead
          title={`By ${ofEach}`}
          count={steps.length}
          csv={pathOf('calls/over-time.csv', question)}
        />
        <Table
          isOneLine
          caption={`Calls by ${name}`}
          rows={steps.toReversed()}
          keyOf={({ from }) => String(from)}
          columns={[
            {
              head: capitalized(name),
              sortBy: ({ from }) => from,
              cell: (step) => (
                <a href={hrefOf('calls', { ...query, at: String(step.from) })}>
                  {stepText(reply, step).title}
                </a>
              ),
            },
            ...(split === 'none'
              ? [...COUNT_COLUMNS, ...(isTime ? LATENCY_COLUMNS : [])]
              : [...(total === undefined ? [] : [total]), ...series].map(columnOf)),
          ]}
        />
      </details>
    </>
  )
}

const callsText = (count: number): string => (count === 1 ? '1 call' : `${formatCount(count)} calls`)

/** How many calls the table below has. Undefined if it may have others than the chart. */
export function countOf(reply: CallsOverTimeReply | undefined, step: Step | undefined, hasTime: boolean) {
  if (reply === undefined || reply.since !== undefined) return undefined
  const isComplete = hasTime || (reply.oldest ?? 0) >= reply.steps[0]!.from
  return isComplete ? (step ?? reply).calls : undefined
}

/** What of the table below is shown, if a step was chosen. */
export function ChosenStep({ reply, step }: { reply: CallsOverTimeReply; step: Step | undefined }) {
  if (step === undefined) return null
  return (
    <p class="chosen">
      Only calls of {stepText(reply, step).title}.{' '}
      <Button tone="quiet" onPress={() => changeQuery({ at: undefined })}>
        Show all
      </Button>
    </p>
  )
}

export function CallChartChoices({ query, isProblems }: { query: Place['query']; isProblems: boolean }) {
  const isForOperator = isOperator(useSession().viewer)
  const { measure, split } = chartOf(query, isProblems)
  return (
    <div class="toolbar">
      <RangeChoice query={query} />
      <Choice
        label="Split by"
        // A user has one account.
        options={SPLITS.filter(({ value }) => isForOperator || value !== 'account')}
        value={split}
        onChange={(by) => changeQuery({ by })}
      />
      {!isProblems && (
        <Choice
          label="Measure"
          options={MEASURES}
          value={measure}
          onChange={(value) => changeQuery({ measure: value })}
        />
      )}
    </div>
  )
}

function heightOf(figures: Figures | undefined, measure: Measure): number | undefined {
  if (measure === 'calls' || measure === 'failures') return figures?.[measure] ?? 0
  return figures?.[measure]?.median
}

function textOf(figures: Figures | undefined, measure: Measure): string {
  const height = heightOf(figures, measure)
  return height === undefined ? 'none' : formatCount(height)
}

function seriesFor(name: string, figures: readonly (Figures | undefined)[], measure: Measure): ChartSeries {
  return {
    name,
    values: figures.map((one) => heightOf(one, measure)),
    figureAt: (step) => textOf(figures[step], measure),
  }
}

function seriesOf(reply: CallsOverTimeReply, split: Split, measure: Measure): readonly ChartSeries[] {
  const { groups, parts, steps } = reply
  if (split !== 'none') {
    const partsOf = (group: number | undefined) => {
      const own = new Map(parts.filter((part) => part.group === group).map((part) => [part.step, part]))
      return steps.map((_, step) => own.get(step))
    }
    const named = groups.map(({ key, name }, group) =>
      seriesFor(name ?? key ?? NO_GROUP[split], partsOf(group), measure),
    )
    if (parts.every(({ group }) => group !== undefined)) return named
    return [...named, { ...seriesFor('All others', partsOf(undefined), measure), isRest: true }]
  }
  if (measure === 'calls' || measure === 'failures') {
    return [seriesFor(capitalized(measure), steps, measure)]
  }
  return [
    seriesFor('Half of them, at most', steps, measure),
    {
      name: '19 of 20, at most',
      values: steps.map((step) => step[measure]?.slow),
      figureAt: (step) => {
        const ms = steps[step]?.[measure]?.slow
        return ms === undefined ? 'none' : formatCount(ms)
      },
    },
  ]
}

function beforeOf({ before, steps }: CallsOverTimeReply, measure: Measure): ChartSeries | undefined {
  if (before === undefined) return undefined
  const own = new Map(before.steps.map((figures) => [figures.step, figures]))
  return seriesFor(
    'Period before',
    steps.map((_, step) => own.get(step)),
    measure,
  )
}

const columnOf = ({ name, figureAt, values }: ChartSeries): Column<Step> => ({
  head: name,
  isNumber: true,
  sortBy: ({ step }) => values[step],
  cell: ({ step }) => figureAt(step),
})

const COUNT_COLUMNS: readonly Column<Step>[] = [
  { head: 'Calls', isNumber: true, sortBy: ({ calls }) => calls, cell: ({ calls }) => formatCount(calls) },
  {
    head: 'Failures',
    isNumber: true,
    sortBy: ({ failures }) => failures,
    cell: ({ failures }) => formatCount(failures),
  },
]

const LATENCY_COLUMNS = (['firstTokenMs', 'durationMs'] as const).flatMap((of): readonly Column<Step>[] => {
  const name = of === 'durationMs' ? 'Duration' : 'First token'
  const text = (ms: number | undefined) => (ms === undefined ? '–' : formatDuration(ms))
  return [
    { head: `${name}, half`, isNumber: true, cell: (step) => text(step[of]?.median) },
    { head: `${name}, 19 of 20`, isNumber: true, cell: (step) => text(step[of]?.slow) },
  ]
})

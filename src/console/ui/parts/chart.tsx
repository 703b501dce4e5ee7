import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { shortDecimal, ticksOf } from './ticks.js'

export interface ChartStep {
  /** Below the axis. */
  readonly label: string
  /** The whole time, shown if there is room for it. */
  readonly title: string
}

/** Figures of one kind over time. */
export interface ChartSeries {
  readonly name: string
  /** The height at each step. Undefined if a step has no figure. */
  readonly values: readonly (number | undefined)[]
  /** The exact figure at a step. */
  readonly figureAt: (step: number) => string
  /** Whether it is all that the other series leave. */
  readonly isRest?: boolean
}

interface ChartProps {
  readonly steps: readonly ChartStep[]
  readonly series: readonly ChartSeries[]
  /** Lines beside each other instead of bars on top of each other. */
  readonly isLines?: boolean
  readonly unit: string
  /** The sum of all series, if there are several. */
  readonly total?: ChartSeries | undefined
  /** The same steps of the period before, as a line. */
  readonly before?: ChartSeries | undefined
  /** Describes the chart for people who cannot see it. */
  readonly description: string
  /** Opens a step, if it is pressed. */
  readonly onChoose?: (step: number) => void
}

const HEIGHT = 240
const TOP = 10
const BOTTOM = 26
const LEFT = 58
const RIGHT = 8
const LABEL_PX = 68
const MOST_BAR_PX = 44

/** Figures over time. They are shown at the pointer, or at the step that the arrow keys choose. A table has them too. */
export function Chart(props: ChartProps) {
  const { steps, series, isLines = false, unit, total, before, description, onChoose } = props
  const { element, width } = useWidth()
  const [active, setActive] = useState<number>()
  const last = steps.length - 1
  const shown = active === undefined ? undefined : Math.min(active, last)
  const stepPx = Math.max(0, width - LEFT - RIGHT) / steps.length
  const choose = (step: number | undefined): void => {
    if (step !== undefined) onChoose?.(step)
  }
  const follow = (event: PointerEvent): void => {
    const { left } = element.current!.getBoundingClientRect()
    setActive(Math.max(0, Math.min(last, Math.floor((event.clientX - left - LEFT) / stepPx))))
  }
  const press = (event: KeyboardEvent): void => {
    const at = shown ?? last
    const moves: Readonly<Record<string, number>> = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      Home: 0,
      End: last,
    }
    const to = moves[event.key]
    if (event.key === 'Enter') choose(shown)
    if (event.key === 'Escape') setActive(undefined)
    if (to === undefined) return
    event.preventDefault()
    setActive(Math.max(0, Math.min(last, to)))
  }
  const lines = (step: number) => linesAt(step, series, total, before)
  return (
    <figure class="chart">
      <p class="chart-unit">{unit}</p>
      <div
        ref={element}
        class={`plot ${onChoose === undefined ? '' : 'can-open'}`}
        role="slider"
        tabIndex={0}
        aria-label={description}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={shown ?? last}
        aria-valuetext={`${steps[shown ?? last]?.title}: ${lines(shown ?? last)
          .map(({ name, figure }) => `${name} ${figure}`)
          .join(', ')} ${unit}`}
        onFocus={() => setActive((now) => now ?? last)}
        onBlur={() => setActive(undefined)}
        onKeyDown={press}
        onPointerMove={follow}
        onPointerDown={follow}
        onPointerLeave={() => setActive(undefined)}
        onClick={() => choose(shown)}
      >
        {width > 0 && (
          <Plot
            width={width}
            stepPx={stepPx}
            steps={steps}
            series={series}
            isLines={isLines}
            before={before}
            active={shown}
          />
        )}
        {shown !== undefined && (
          <div class={`chart-tip ${shown < steps.length / 2 ? 'at-right' : ''}`} aria-hidden="true">
            <strong>{steps[shown]?.title}</strong>
            <ul>
              {lines(shown).map(({ name, figure, tone }) => (
                <li key={name}>
                  <span class={`swatch ${tone}`} /> {name}
                  <span class="tip-figure">
                    {figure} {unit}
                  </span>
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
      {(series.length > 1 || before !== undefined) && (
        <figcaption>
          {[
            ...series.map((one, index) => ({ name: one.name, tone: toneOf(one, index) })),
            ...beforeKey(before),
          ].map(({ name, tone }) => (
            <span key={name}>
              <span class={`swatch ${tone}`} />
              {name}
            </span>
          ))}
        </figcaption>
      )}
    </figure>
  )
}

const toneOf = ({ isRest }: ChartSeries, index: number): string => (isRest ? 'tone-rest' : `tone-${index}`)

function beforeKey(before: ChartSeries | undefined) {
  return before === undefined ? [] : [{ name: before.name, tone: 'tone-before' }]
}

/** The figures of a step. Series without one are left out. */
function linesAt(
  step: number,
  series: readonly ChartSeries[],
  total: ChartSeries | undefined,
  before: ChartSeries | undefined,
) {
  const line = (one: ChartSeries, tone: string) => ({ name: one.name, figure: one.figureAt(step), tone })
  return [
    ...(total === undefined ? [] : [line(total, 'tone-none')]),
    ...series.flatMap((one, index) =>
      series.length > 1 && !one.values[step] ? [] : [line(one, toneOf(one, index))],
    ),
    ...(before === undefined ? [] : [line(before, 'tone-before')]),
  ]
}

interface PlotProps {
  readonly width: number
  readonly stepPx: number
  readonly steps: readonly ChartStep[]
  readonly series: readonly ChartSeries[]
  readonly isLines: boolean
  readonly before: ChartSeries | undefined
  readonly active: number | undefined
}

function Plot({ width, stepPx, steps, series, isLines, before, active }: PlotProps) {
  const heights = steps.map((_, step) => {
    const values = series.map(({ values }) => values[step] ?? 0)
    return isLines ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0)
  })
  const beforeHeights = before?.values.map((value) => value ?? 0) ?? []
  const isWhole = series.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0)))
  const ticks = ticksOf(Math.max(0, ...heights, ...beforeHeights), isWhole)
  const top = ticks.at(-1)!
  const y = (value: number): number => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM)
  const x = (step: number): number => LEFT + (step + 0.5) * stepPx
  const every = Math.max(1, Math.ceil(LABEL_PX / stepPx))
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      {ticks.map((tick) => (
        <g key={tick}>
          <line class="grid" x1={LEFT} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
          <text class="tick" x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
            {shortDecimal(tick)}
          </text>
        </g>
      ))}
      {active !== undefined && (
        <rect
          class="active"
          x={x(active) - stepPx / 2}
          y={TOP}
          width={stepPx}
          height={HEIGHT - TOP - BOTTOM}
        />
      )}
      {isLines
        ? series.map((one, index) => <Line key={one.name} tone={toneOf(one, index)} {...{ of: one, x, y }} />)
        : steps.map((_, step) => <Bars key={step} {...{ step, series, stepPx, x, y }} />)}
      {before !== undefined && <Line of={before} tone="tone-before" x={x} y={y} />}
      {steps.map(({ label }, step) =>
        // From the newest step back, which always has its label.
        (steps.length - 1 - step) % every === 0 ? (
          <text
            key={step}
            class="tick"
            x={Math.min(x(step), width - 4)}
            y={HEIGHT - 8}
            text-anchor={x(step) + LABEL_PX / 2 > width ? 'end' : 'middle'}
          >
            {label}
          </text>
        ) : null,
      )}
    </svg>
  )
}

interface Scales {
  readonly x: (step: number) => number
  readonly y: (value: number) => number
}

function Bars(props: Scales & { step: number; series: readonly ChartSeries[]; stepPx: number }) {
  const { step, series, stepPx, x, y } = props
  const barPx = Math.max(1, Math.min(MOST_BAR_PX, stepPx * 0.72))
  let below = 0
  return (
    <>
      {series.map((one, index) => {
        const value = one.values[step] ?? 0
        if (value <= 0) return null
        const bottom = y(below)
        below += value
        return (
          <rect
            key={one.name}
            class={toneOf(one, index)}
            x={x(step) - barPx / 2}
            y={y(below)}
            width={barPx}
            height={bottom - y(below)}
          />
        )
      })}
    </>
  )
}

/** A line, with a gap at each step that has no figure. */
function Line({ of: { values }, tone, x, y }: Scales & { of: ChartSeries; tone: string }) {
  let path = ''
  for (const [step, value] of values.entries()) {
    if (value === undefined) continue
    path += `${values[step - 1] === undefined ? 'M' : 'L'}${x(step).toFixed(1)} ${y(value).toFixed(1)}`
  }
  return (
    <>
      <path class={`line ${tone}`} d={path} />
      {/* A figure without neighbours has no line. */}
      {values.map((value, step) =>
        value !== undefined && values[step - 1] === undefined && values[step + 1] === undefined ? (
          <circle key={step} class={tone} cx={x(step)} cy={y(value)} r={3} />
        ) : null,
      )}
    </>
  )
}

function useWidth() {
  const element = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const measure = (): void => setWidth(element.current!.clientWidth)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element.current!)
    return () => observer.disconnect()
  }, [])
  return { element, width }
}

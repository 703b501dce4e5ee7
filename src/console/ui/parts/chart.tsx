import { useEffect, useRef, useState } from 'preact/hooks'
import type UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

export interface ChartPoint {
  /** Seconds since the Unix epoch if the chart is over time, otherwise the index of the point. */
  readonly x: number
  readonly label: string
  readonly lower: number
  readonly upper: number
}

interface ChartProps {
  readonly points: readonly ChartPoint[]
  readonly isOverTime: boolean
  readonly lowerName: string
  readonly upperName: string
  /** Describes the chart for people who cannot see it. */
  readonly description: string
}

const HEIGHT = 220
const LABEL_CHARACTERS = 14
/** The minimum width of a label, the width of a character, and that of the vertical axis. */
const LABEL_PX = 52
const CHARACTER_PX = 7
const AXIS_PX = 72

/** Two stacked bars for each point. A table beside it, or on the page behind it, has the exact figures. */
export function Chart(props: ChartProps) {
  const host = useRef<HTMLDivElement>(null)
  const scheme = useColorScheme()
  const [isMissing, setMissing] = useState(false)
  const { points, isOverTime, lowerName, upperName, description } = props
  useEffect(() => {
    let isGone = false
    let remove = (): void => undefined
    import('uplot')
      .then(({ default: library }) => {
        const element = host.current
        if (isGone || element === null) return
        const plot = new library(optionsOf(props, element, library), dataOf(points), element)
        const observer = new ResizeObserver(() =>
          plot.setSize({ width: element.clientWidth, height: HEIGHT }),
        )
        observer.observe(element)
        remove = () => {
          observer.disconnect()
          plot.destroy()
        }
      })
      // A table has the same figures, so the page is useful without its chart.
      .catch(() => setMissing(true))
    return () => {
      isGone = true
      remove()
    }
  }, [points, isOverTime, scheme])
  if (isMissing)
    return (
      <p class="hint">
        This browser cannot draw the chart. Its figures are also a table, here or on the page Spend.
      </p>
    )
  return (
    <figure class="chart">
      <div ref={host} role="img" aria-label={description} />
      <figcaption>
        <span class="key-lower">{lowerName}</span> <span class="key-upper">{upperName}</span>
      </figcaption>
    </figure>
  )
}

function useColorScheme(): boolean {
  const [isDark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches)
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)')
    const follow = (): void => setDark(query.matches)
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [])
  return isDark
}

/** The upper bars are drawn first, as high as both together. */
function dataOf(points: readonly ChartPoint[]): UPlot.AlignedData {
  return [
    points.map(({ x }) => x),
    points.map(({ lower, upper }) => lower + upper),
    points.map(({ lower }) => lower),
  ]
}

function optionsOf(
  { points, isOverTime, lowerName, upperName }: ChartProps,
  element: HTMLElement,
  library: typeof UPlot,
): UPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const axis = {
    stroke: colour('--muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  }
  const bars = library.paths.bars?.({ size: [0.6, 48] })
  const series = (label: string, fill: string): UPlot.Series => ({
    label,
    fill: colour(fill),
    points: { show: false },
    ...(bars !== undefined && { paths: bars }),
  })
  const { min, max } = extentOf(points, isOverTime)
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: [min, max] },
      y: { range: (_plot, _min, top) => [0, top > 0 ? top * 1.05 : 1] },
    },
    series: [{}, series(upperName, '--chart-upper'), series(lowerName, '--chart-lower')],
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        ...(isOverTime
          ? { incrs: DAY_STEPS, ...dayLabels(max - min) }
          : { splits: points.map(({ x }) => x), values: namesOf(points) }),
      },
      { ...axis, size: AXIS_PX, values: (_plot, splits) => splits.map((value) => shortDecimal(value)) },
    ],
  }
}

/** Adds half a bar's room on either side, so that the outer bars are complete. */
function extentOf(points: readonly ChartPoint[], isOverTime: boolean): { min: number; max: number } {
  const room = isOverTime ? DAY_SECONDS / 2 : 0.6
  const xs = points.map(({ x }) => x)
  return { min: Math.min(...xs) - room, max: Math.max(...xs) + room }
}

const DAY_SECONDS = 86_400
/** Days in UTC begin at multiples of these. The library's own steps follow the reader's clock, in which some midnights are missing. */
const DAY_STEPS = [1, 2, 4, 7, 14, 28, 56, 91, 182, 364, 728, 1_820, 3_640].map((days) => days * DAY_SECONDS)
const LONG_SECONDS = 300 * DAY_SECONDS

/** Adds the year if the same day may occur twice. */
function dayLabels(seconds: number): Pick<UPlot.Axis, 'space' | 'values'> {
  const isLong = seconds > LONG_SECONDS
  const format = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    ...(isLong && { year: 'numeric' }),
    timeZone: 'UTC',
  })
  return {
    space: isLong ? 80 : 46,
    values: (_plot, splits) => splits.map((at) => format.format(at * 1_000)),
  }
}

function namesOf(points: readonly ChartPoint[]): (plot: UPlot, splits: number[]) => string[] {
  return ({ width }, splits) => {
    const placePx = Math.max(1, (width - AXIS_PX) / points.length)
    const every = Math.ceil(LABEL_PX / placePx)
    const fit = Math.min(LABEL_CHARACTERS, Math.floor((every * placePx) / CHARACTER_PX) - 1)
    return splits.map((x) => {
      const label = x % every === 0 ? (points[x]?.label ?? '') : ''
      return label.length > fit ? `${label.slice(0, fit - 1)}…` : label
    })
  }
}

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 })

/** Fits into the width of the axis. */
function shortDecimal(value: number): string {
  if (value >= 1_000_000) return COMPACT.format(value)
  return value === 0 ? '0' : String(Number(value.toPrecision(6)))
}

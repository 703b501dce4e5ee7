import type { KeptCall } from 'compat-router/stores'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openVisit, type Visit, violations } from './visit.js'

const DAY_MS = 86_400_000
const CODES = ['provider_error', 'rate_limited', 'provider_error', 'insufficient_credits'] as const

let visit: Visit
let calls: readonly KeptCall[]

/** Forty failures in ten days, half of them five days ago, and as many calls that completed. */
function failuresOf(now: number): readonly KeptCall[] {
  return Array.from({ length: 80 }, (_, place) => {
    const isFailure = place % 2 === 0
    const days = place < 40 ? 5 : (place % 10) + 1
    return {
      id: `call-${place}`,
      requestId: `request-${place}`,
      operation: 'chat',
      at: now - days * DAY_MS,
      durationMs: 100 + place,
      firstTokenMs: 10 + place,
      outcome: isFailure ? CODES[(place / 2) % CODES.length]! : 'completed',
      status: isFailure ? 502 : 200,
      facts: {
        requestId: `request-${place}`,
        account: 'alice',
        credentialId: 'key-1',
        model: place % 3 === 0 ? 'acme/smart' : 'acme/fast',
        provider: 'acme',
      },
      ...(!isFailure && {
        charge: {
          cost: 5n,
          base: 5n,
          markup: 0n,
          basis: 'reported' as const,
          byok: false,
          usage: { prompt: 1, cached: 0, cacheWrite: 0, completion: 1, reasoning: 0 },
        },
      }),
    }
  })
}

beforeAll(async () => {
  visit = await openVisit()
  calls = failuresOf(Date.now())
  const { stores, admin } = visit.stage
  for (const call of calls) stores.calls.record(call)
  // Kept calls are written a moment later.
  await vi.waitUntil(
    async () => (await admin.calls.list({ limit: 1_000 })).calls.length === calls.length,
    10_000,
  )
}, 180_000)

afterAll(() => visit?.close())

const dayOf = (at: number): string =>
  new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(at)

/** Moves to the day of the peak by keyboard, and returns the text that a screen reader reads. */
async function readPeak(page: Page): Promise<string> {
  const plot = page.getByRole('slider')
  await plot.locator('svg').waitFor()
  await plot.focus()
  await plot.press('End')
  for (let day = 0; day < 5; day++) await plot.press('ArrowLeft')
  return (await plot.getAttribute('aria-valuetext')) ?? ''
}

describe('problems in the console', { timeout: 120_000 }, () => {
  const peak = () => calls.filter(({ at }) => dayOf(at) === dayOf(Date.now() - 5 * DAY_MS))
  const failures = () => peak().filter(({ outcome }) => outcome !== 'completed')

  it('are counted over time by error code, model, provider and key', async () => {
    const page = await visit.open('operator', 'calls?view=problems&zone=UTC')
    const byCode = await readPeak(page)
    expect(byCode).toContain(`${dayOf(Date.now() - 5 * DAY_MS)}: Total ${failures().length},`)
    for (const code of new Set(CODES)) {
      const count = failures().filter(({ outcome }) => outcome === code).length
      expect(byCode).toContain(`${code} ${count}`)
    }
    await page.getByRole('group', { name: 'Split by' }).getByRole('button', { name: 'Model' }).click()
    await expect.poll(() => readPeak(page)).toContain('acme/fast')
    const smart = failures().filter(({ facts }) => facts!.model === 'acme/smart').length
    expect(await readPeak(page)).toContain(`acme/smart ${smart}`)
    for (const [split, name] of [
      ['Provider', 'acme'],
      ['Key', 'key-1'],
    ] as const) {
      await page.getByRole('group', { name: 'Split by' }).getByRole('button', { name: split }).click()
      await expect.poll(() => readPeak(page)).toContain(`${name} ${failures().length}`)
    }
    expect(await violations(page)).toEqual([])
    await page.context().close()
  })

  it('lead from a peak to its calls, by a click, by Enter and by a link', async () => {
    const page = await visit.open('operator', 'calls?view=problems&zone=UTC')
    const rows = page.getByRole('table', { name: 'Calls, newest first' }).locator('tbody tr')
    const day = dayOf(Date.now() - 5 * DAY_MS)
    const showsPeak = async () => {
      await page.getByText(`Only calls of ${day}.`).waitFor()
      await expect.poll(() => rows.count()).toBe(failures().length)
      expect(await page.locator('.table-head .count').last().textContent()).toBe(String(failures().length))
      await page.getByRole('button', { name: 'Show all' }).click()
      await expect.poll(() => rows.count()).toBe(40)
    }
    await readPeak(page)
    await page.keyboard.press('Enter')
    await showsPeak()
    const plot = page.getByRole('slider')
    const { width } = (await plot.boundingBox())!
    await plot.click({ position: { x: 58 + (24.5 * (width - 66)) / 30, y: 100 } })
    await showsPeak()
    await page.getByText('Figures by day and code').click()
    await page.getByRole('link', { name: day, exact: true }).click()
    await showsPeak()
    expect(visit.complaints).toEqual([])
    await page.context().close()
  })

  it('are among all calls, whose latency a chart shows too', async () => {
    const page = await visit.open('operator', 'calls?view=all&zone=UTC&measure=durationMs')
    const durations = peak()
      .map(({ durationMs }) => durationMs)
      .sort((one, other) => one - other)
    const median = durations[Math.ceil(durations.length / 2) - 1]
    expect(await readPeak(page)).toContain(`Half of them, at most ${median},`)
    await page.getByRole('button', { name: 'Failures', exact: true }).click()
    await expect.poll(() => readPeak(page)).toContain(`Failures ${failures().length}`)
    await page.getByRole('button', { name: '12 months' }).click()
    await page.getByText('calls are kept for 30 days').waitFor()
    await page.context().close()
  })

  it('of a user are only its own', async () => {
    const page = await visit.open('bob', 'calls?view=problems')
    await page.getByText('Nothing has gone wrong.').waitFor()
    expect(await page.getByRole('slider').count()).toBe(0)
    await page.context().close()
  })
})

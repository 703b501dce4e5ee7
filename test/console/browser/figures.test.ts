import type { Entry } from 'compat-router/stores'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allEntries } from '../../helpers/all-entries.js'
import { decimal } from '../../helpers/decimals.js'
import { simulateCalls, spreadOverDays } from './simulated-calls.js'
import { openVisit, type Visit } from './visit.js'

const CALLS = 10_000

interface Sums {
  calls: number
  cost: bigint
  base: bigint
  markup: bigint
  prompt: number
  cached: number
  completion: number
  reasoning: number
}

let visit: Visit
let page: Page
let entries: readonly Entry[]

beforeAll(async () => {
  visit = await openVisit()
  const { admin, stores } = visit.stage
  const keys = [
    await admin.keys.issue({ account: 'alice' }),
    await admin.keys.issue({ account: 'bob' }),
    await admin.keys.issueToken({ account: 'alice', appId: 'notes', scopes: ['models.run'] }),
  ]
  const credentialIds = keys.map(({ credentialId }) => credentialId)
  await simulateCalls(stores, { count: CALLS, seed: 20_260_101, credentialIds })
  await spreadOverDays(stores, 40)
  entries = (await allEntries(visit.stage.admin)).filter(({ kind }) => kind === 'charge')
  page = await visit.open('operator', 'spend')
}, 300_000)

afterAll(() => visit?.close())

const dayText = (at: number): string =>
  new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(at)

const KEYS = {
  day: ({ at }: Entry) => dayText(at),
  model: ({ facts }: Entry) => facts!.model,
  app: ({ facts }: Entry) => facts!.appId ?? 'without an app',
  key: ({ facts }: Entry) => facts!.credentialId,
  provider: ({ facts }: Entry) => facts!.provider ?? 'no provider',
} as const

/** Summed here, entry by entry, without any code of the console. */
function sumsOf(of: readonly Entry[], keyOf: (entry: Entry) => string): Map<string, readonly string[]> {
  const sums = new Map<string, Sums>()
  for (const entry of of) {
    const { cost, base, markup, usage } = entry.charge!
    for (const key of [keyOf(entry), 'Total']) {
      const sum = sums.get(key) ?? {
        calls: 0,
        cost: 0n,
        base: 0n,
        markup: 0n,
        prompt: 0,
        cached: 0,
        completion: 0,
        reasoning: 0,
      }
      sum.calls++
      sum.cost += cost
      sum.base += base
      sum.markup += markup
      sum.prompt += usage.prompt
      sum.cached += usage.cached
      sum.completion += usage.completion
      sum.reasoning += usage.reasoning
      sums.set(key, sum)
    }
  }
  return new Map([...sums].map(([key, sum]) => [key, shown(sum)]))
}

function shown({ calls, cost, base, markup, ...tokens }: Sums): readonly string[] {
  const amounts = [cost, base, markup].map(decimal)
  const share = `${((Number(markup) / Number(cost)) * 100).toFixed(1)} %`
  const { prompt, cached, completion, reasoning } = tokens
  return [String(calls), ...amounts, share, ...[prompt, cached, completion, reasoning].map(String)]
}

async function tableOf(by: string): Promise<Map<string, readonly string[]>> {
  const rows = page.getByRole('table', { name: `Spend by ${by}` }).locator('tbody tr, tfoot tr')
  const cells = await rows.evaluateAll((found) =>
    found.map((row) =>
      [...row.children].map(
        (cell) =>
          // The title of an amount is exact.
          cell.querySelector('.amount')?.getAttribute('title')?.replace(' credits', '') ??
          (cell.querySelector('code') ?? cell).textContent ??
          '',
      ),
    ),
  )
  return new Map(
    cells
      .map(([key = '', ...figures]) => [key, figures.map((text) => text.replaceAll(',', ''))] as const)
      // A day without calls has a row too.
      .filter(([, [calls]]) => calls !== '0'),
  )
}

/** All days of the calls, in UTC. */
const FROM = `zone=UTC&fromDay=${new Date(Date.now() - 45 * 86_400_000).toISOString().slice(0, 10)}`

async function openSpend(query: string, by: string): Promise<void> {
  await page.goto(`${visit.stage.consoleUrl}#/spend?${FROM}&${query}`)
  await page.getByRole('table', { name: `Spend by ${by}` }).waitFor()
  await page.locator('.listing[aria-busy="true"]').waitFor({ state: 'detached' })
}

describe(`in the console, after ${CALLS} calls,`, { timeout: 120_000 }, () => {
  it('all of them are in the ledger', () => {
    expect(entries).toHaveLength(CALLS)
  })

  it.each(Object.keys(KEYS) as (keyof typeof KEYS)[])(
    'every figure by %s is the sum of the entries',
    async (by) => {
      await openSpend(`by=${by}`, by)
      expect(await tableOf(by)).toEqual(sumsOf(entries, KEYS[by]))
    },
  )

  it('every figure of one account and one app is too, and so are the sums above the table', async () => {
    await openSpend('by=model&account=alice&appId=notes', 'model')
    const narrowed = entries.filter(({ facts }) => facts!.account === 'alice' && facts!.appId === 'notes')
    const sums = sumsOf(narrowed, KEYS.model)
    expect(await tableOf('model')).toEqual(sums)
    for (const [column, figure] of ['cost', 'base', 'markup'].entries()) {
      expect(await page.locator(`[data-figure="${figure}"]`).textContent()).toBe(
        sums.get('Total')![column + 1],
      )
    }
  })

  it('the page and the downloaded file agree with the ledger', async () => {
    await openSpend('by=provider', 'provider')
    await page.locator('[data-books="equal"]').waitFor()
    const total = sumsOf(entries, KEYS.provider).get('Total')!
    expect(await page.locator('[data-books]').textContent()).toContain(total[1])
    const file = await page
      .getByRole('link', { name: 'Download CSV By provider', exact: true })
      .getAttribute('href')
    const text = (await page.evaluate((href) => fetch(href).then((reply) => reply.text()), file!)) as string
    for (const [key, figures] of sumsOf(entries, KEYS.provider)) {
      if (key !== 'Total') expect(text).toMatch(new RegExp(`${key}.*${figures[1]}`))
    }
    expect(visit.complaints).toEqual([])
  })

  it('the Calls page shows the entries page by page, forwards and backwards', async () => {
    const all = (await visit.stage.admin.entries.list({ limit: 150 })).entries.map(
      ({ id }) => `Explain ${id}`,
    )
    await page.goto(`${visit.stage.consoleUrl}#/calls`)
    const shown = page.getByRole('table').getByRole('button')
    const expectPage = (number: number) =>
      expect.poll(() => shown.allTextContents()).toEqual(all.slice((number - 1) * 50, number * 50))
    await expectPage(1)
    await page.getByRole('button', { name: 'Next' }).click()
    await expectPage(2)
    await page.getByRole('button', { name: 'Next' }).click()
    await expectPage(3)
    await page.getByRole('button', { name: 'Previous' }).click()
    await expectPage(2)

    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor()
    await page.goBack()
    await expectPage(2)
    await page.reload()
    await expectPage(2)
    await page.getByRole('button', { name: 'Previous' }).click()
    await expectPage(1)
    await page.getByLabel('Model', { exact: true }).fill('none')
    await page.getByLabel('Model', { exact: true }).press('Enter')
    await page.getByText('No entry matches these filters.').waitFor()
    await page.goBack()
    await expectPage(1)
  })
})

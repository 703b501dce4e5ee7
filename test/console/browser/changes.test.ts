import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openVisit, type Visit } from './visit.js'

let visit: Visit
let page: Page

const strict = {
  id: 'acme/strict',
  prices: { input: '1', output: '2' },
  modalities: [],
  operations: ['chat'],
  ownedBy: 'acme',
}
const MEDIA = 'Largest image or file, tokens'
const OVERHEAD = 'Added to a prompt by the provider, tokens'
const route = {
  id: 'strict',
  model: strict.id,
  provider: 'acme',
  adapter: 'openai',
  upstreamModel: 'strict',
  settings: { baseUrl: 'http://127.0.0.1:9/v1' },
}

beforeAll(async () => {
  visit = await openVisit()
  page = await visit.open('operator', 'models')
}, 180_000)

afterAll(() => visit?.close())

const modelNow = async () => (await visit.stage.admin.models.list({ modelIds: [strict.id] }))[0]
const routeNow = async () => (await visit.stage.admin.routes.list({ routeIds: [route.id] }))[0]

/** Opens the form of the stored row. */
async function change(path: string, of: string) {
  await page.goto(`${visit.stage.consoleUrl}#/${path}`)
  await page.reload()
  await page.getByRole('button', { name: `Change ${of}`, exact: true }).click()
  return page.getByRole('dialog')
}

async function save(): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

describe('a console form for an existing item', { timeout: 120_000 }, () => {
  it.each([{}, { supportedParameters: [] }, { supportedParameters: ['tools', 'seed'] }])(
    'saves the supported parameters unchanged: %j',
    async (supported) => {
      await visit.stage.admin.models.put({ ...strict, ...supported })
      await visit.stage.admin.routes.put({ ...route, ...supported })
      const before = [await modelNow(), await routeNow()]
      await change('models', strict.id)
      await save()
      await change('routes', route.id)
      await save()
      expect([await modelNow(), await routeNow()]).toEqual(
        before.map((row, at) => (at === 0 ? row : { ...row, enabled: true })),
      )
    },
  )

  it('saves media tokens, prompt overhead and dimensions: unchanged, changed or emptied', async () => {
    await visit.stage.admin.models.put({ ...strict, mediaTokens: 500, promptOverhead: 0, dimensions: 768 })
    const before = await modelNow()
    await change('models', strict.id)
    await save()
    expect(await modelNow()).toEqual(before)
    const form = await change('models', strict.id)
    await form.getByLabel(MEDIA).fill('700')
    await form.getByLabel(OVERHEAD).fill('40')
    await save()
    expect(await modelNow()).toEqual({ ...before, mediaTokens: 700, promptOverhead: 40 })
    await change('models', strict.id)
    await form.getByLabel(MEDIA).fill('image 700, pdf 90000')
    await save()
    const byKind = { ...before, mediaTokens: { image: 700, pdf: 90_000 }, promptOverhead: 40 }
    expect(await modelNow()).toEqual(byKind)
    await change('models', strict.id)
    await save()
    expect(await modelNow()).toEqual(byKind)
    await change('models', strict.id)
    await form.getByLabel(MEDIA).fill('')
    await form.getByLabel(OVERHEAD).fill('')
    await form.getByLabel('Numbers in an embedding').fill('')
    await save()
    expect(await modelNow()).toEqual({ ...strict, created: 0 })
  })

  it('saves the prices of audio and images: unchanged, changed or emptied', async () => {
    const media = { audioInput: '3', audioOutput: '4', imageInput: '5', imageOutput: '6' }
    await visit.stage.admin.models.put({ ...strict, prices: { ...strict.prices, ...media } })
    const before = await modelNow()
    await change('models', strict.id)
    await save()
    expect(await modelNow()).toEqual(before)
    const form = await change('models', strict.id)
    await form.getByLabel('Audio input price').fill('30')
    for (const label of ['Audio output price', 'Image input price']) await form.getByLabel(label).fill('')
    await save()
    expect((await modelNow())?.prices).toEqual({ ...strict.prices, audioInput: '30', imageOutput: '6' })
  })

  it('shows the reason beside the field if it is refused for its media tokens', async () => {
    await visit.stage.admin.models.put({ ...strict, mediaTokens: 500 })
    const form = await change('models', strict.id)
    await form.getByLabel(MEDIA).fill('0')
    await form.getByRole('button', { name: 'Save' }).click()
    await form.locator('[name="mediaTokens"][aria-invalid="true"]:focus').waitFor()
    await form.getByRole('button', { name: 'Cancel' }).click()
    expect((await modelNow())?.mediaTokens).toBe(500)
  })

  it('sets the escapes of a route in the prompt, keeps them, and clears them', async () => {
    await visit.stage.admin.routes.put(route)
    const escapes = async () => (await routeNow())?.promptEscapes
    const choose = async (shown: string, chosen: string): Promise<void> => {
      const form = await change('routes', route.id)
      const select = form.getByLabel('Escapes in the prompt')
      expect(await select.inputValue()).toBe(shown)
      await select.selectOption(chosen)
      await save()
    }
    await choose('', 'of < > & and quotes, as by Ollama and TGI')
    expect(await escapes()).toBe('html')
    await change('routes', route.id)
    await save()
    expect(await escapes()).toBe('html')
    await choose('html', 'of everything but ASCII')
    expect(await escapes()).toBe('ascii')
    await choose('ascii', 'none, by default')
    expect(await routeNow()).not.toHaveProperty('promptEscapes')
  })

  it('sets whether all parameters or none are accepted if none is listed', async () => {
    await visit.stage.admin.models.put(strict)
    for (const [chosen, stored] of [
      ['it accepts none', []],
      ['it accepts all', undefined],
    ] as const) {
      const form = await change('models', strict.id)
      await form.getByLabel('If none is listed').selectOption(chosen)
      await save()
      expect((await modelNow())?.supportedParameters).toEqual(stored)
    }
  })
})

describe('a console form for a new item', { timeout: 120_000 }, () => {
  const app = { id: 'mail', name: 'Mail', markup: { basisPoints: 100 }, allowedModels: [], account: 'mail' }

  it.each([
    {
      path: 'models',
      button: ['Add a model', 'Add it'],
      id: strict.id,
      fields: { 'prices.input': '7', 'prices.output': '8' },
      before: () => visit.stage.admin.models.put(strict),
      now: modelNow,
    },
    {
      path: 'routes',
      button: ['Add a route', 'Add it'],
      id: route.id,
      fields: {
        model: 'acme/other',
        provider: 'other',
        upstreamModel: 'other',
        settings: JSON.stringify(route.settings),
      },
      before: () => visit.stage.admin.routes.put(route),
      now: routeNow,
    },
    {
      path: 'apps',
      button: ['Register an app', 'Register it'],
      id: app.id,
      fields: { 'markup.basisPoints': '9' },
      before: () => visit.stage.admin.apps.put(app),
      now: async () => (await visit.stage.admin.apps.list({ appIds: [app.id] }))[0],
    },
  ])(
    'does not replace an item with the same id under $path',
    async ({ path, button, id, fields, before, now }) => {
      await before()
      const stored = await now()
      await page.goto(`${visit.stage.consoleUrl}#/${path}`)
      await page.getByRole('button', { name: button[0]! }).click()
      const form = page.getByRole('dialog')
      for (const [name, value] of Object.entries({ id, ...fields })) {
        await form.locator(`[name="${name}"]`).fill(value)
      }
      await form.getByRole('button', { name: button[1]! }).click()
      await form.getByText('already exists: nothing was saved').waitFor()
      await form.locator('[name="id"]:focus').waitFor()
      expect(await now()).toEqual(stored)
      await form.getByRole('button', { name: 'Cancel' }).click()
    },
  )
})

describe('a console form for an item that somebody else has changed meanwhile', { timeout: 120_000 }, () => {
  const app = { id: 'mail', name: 'Mail', markup: { basisPoints: 100 }, allowedModels: [] }
  const appNow = async () => (await visit.stage.admin.apps.list({ appIds: [app.id] }))[0]

  it.each([
    {
      path: 'models',
      of: strict.id,
      field: 'Description',
      before: () => visit.stage.admin.models.put(strict),
      other: () => visit.stage.admin.models.put({ ...strict, prices: { input: '7', output: '8' } }),
      now: modelNow,
    },
    {
      path: 'routes',
      of: route.id,
      field: 'Weight',
      before: () => visit.stage.admin.routes.put(route),
      other: () => visit.stage.admin.routes.put({ ...route, enabled: false }),
      now: routeNow,
    },
    {
      path: 'apps',
      of: app.name,
      field: 'Markup, credits per call',
      before: () => visit.stage.admin.apps.put(app),
      other: () => visit.stage.admin.apps.put({ ...app, markup: { basisPoints: 900 } }),
      now: appNow,
    },
  ])('changes nothing under $path, and shows the current item when it is opened again', async (row) => {
    await row.before()
    const form = await change(row.path, row.of)
    await row.other()
    const others = await row.now()
    await form.getByLabel(row.field).fill('3')
    const loadedAgain = page.waitForResponse(`**/api/${row.path}`)
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('has been changed since you opened it').waitFor()
    expect(await row.now()).toEqual(others)
    await form.getByRole('button', { name: 'Cancel' }).click()
    await loadedAgain
    await page.locator('.listing[aria-busy=false]').waitFor()
    await page.getByRole('button', { name: `Change ${row.of}`, exact: true }).click()
    await form.getByLabel(row.field).fill('3')
    await save()
    expect(JSON.stringify(await row.now())).toContain('3')
    expect(await row.now()).toMatchObject(
      row.path === 'apps' ? { markup: { basisPoints: 900 } } : { ...others },
    )
  })

  it('does not restore a removed item', async () => {
    await visit.stage.admin.models.put(strict)
    const form = await change('models', strict.id)
    await visit.stage.admin.models.remove(strict.id)
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('has been removed since you opened it').waitFor()
    expect(await modelNow()).toBeUndefined()
    expect(visit.complaints).toEqual([])
  })
})

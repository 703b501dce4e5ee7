import { type Admin, toJson } from 'compat-router/admin'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import { escaped, page } from './page.js'

const BUDGET_PATTERN = /^[1-9]\d{0,5}$/
const form = (action: string, fields: string, button: string, kind = '') =>
  `<form method="post" action="${action}">${fields}<button class="${kind}">${button}</button></form>`
const table = (heads: readonly string[], rows: readonly string[], empty: string) => {
  if (rows.length === 0) return `<p class="muted">${empty}</p>`
  return `<table><tr>${heads.map((head) => `<th>${head}</th>`).join('')}<th></th></tr>${rows.join('')}</table>`
}

/**
 * Shows users their balance, and their keys and connected apps, each with a monthly budget. The account comes from the session
 * alone.
 */
export function createKeysPage(admin: Admin): express.Router {
  const routes = express.Router()

  routes.get('/', async (_req, res) => {
    const account = res.locals.account as string
    const keys = await admin.keys.list({ account, inUse: true })
    const limits = await admin.limits.list({
      of: 'credential',
      ownerIds: keys.map(({ credentialId }) => credentialId),
      limit: 1_000,
    })
    const budgets = new Map(toJson(limits).map((limit) => [limit.ownerId, limit]))
    const rows = keys.map(({ credentialId, label = '', lastFour, prefix }) => {
      const budget = budgets.get(credentialId)
      return `<tr><td>${escaped(label)}</td><td>${prefix}…${lastFour}</td>
        <td>$${budget?.used} of $${budget?.amount} this month</td>
        <td>${form(`/keys/${credentialId}/revoke`, '', 'Revoke')}</td></tr>`
    })
    const grants = toJson(await admin.connectedApps.list({ account, inUse: true }))
    const apps = grants.map(({ appId, appName = appId, cap, id, spent }) => {
      const field = `<input name="cap" aria-label="The cap of ${escaped(appName)}" required value="${cap?.amount ?? ''}">`
      return `<tr><td>${escaped(appName)}</td>
        <td>${cap ? `$${spent} of $${cap.amount} this ${cap.per}` : 'No cap'}</td>
        <td>${form(`/keys/apps/${id}/cap`, field, 'Change')}</td>
        <td>${form(`/keys/apps/${id}/disconnect`, '', 'Disconnect')}</td></tr>`
    })
    const balance = toJson(await admin.accounts.balance(account))
    const newKey = `<label>Name <input name="label" required></label>
      <label>Dollars a month <input name="budget" value="5" inputmode="numeric" required></label>`
    const topUp = `<label>Dollars <input name="dollars" type="number" min="5" max="500" value="10"></label>`
    res.send(
      page(
        'Keys',
        `<section><h1>$${balance?.available} left</h1>${form('/top-up', topUp, 'Top up', 'yes')}</section>
        <section><h2>Keys</h2>${table(['Name', 'Key', 'Used'], rows, 'You have no key yet.')}
        ${form('/keys', newKey, 'New key')}</section>
        <section><h2>Connected apps</h2>
        ${table(['App', 'Used', 'Dollars a month'], apps, 'You have connected no app.')}</section>`,
      ),
    )
  })

  routes.get('/balance', async (_req, res) => {
    res.json(toJson(await admin.accounts.balance(res.locals.account)))
  })

  // A revoked key and its budget stay in the database, so a user who makes and revokes keys in a loop would fill it.
  const making = rateLimit({
    windowMs: 3_600_000,
    limit: 200,
    keyGenerator: (_req, res) => res.locals.account,
    message: 'Too many new keys. Make more in an hour.',
  })
  routes.post('/', making, async (req, res) => {
    const { budget, label } = (req.body ?? {}) as Record<string, string>
    if (!label || !budget || !BUDGET_PATTERN.test(budget)) {
      res.status(400).send('A key needs a name and a monthly budget of whole dollars.')
      return
    }
    const { token } = await admin.keys.issue({
      account: res.locals.account,
      label,
      limits: [{ unit: 'credits', per: 'month', amount: budget }],
    })
    // Only its digest is stored, so the key is shown now or never.
    res.status(201).send(
      page(
        'New key',
        `<section><h1>Your new key</h1><p><code>${token}</code></p>
          <p class="muted">It is shown only now.</p><a href="/keys">Back to your keys</a></section>`,
      ),
    )
  })

  routes.post('/:id/revoke', async (req, res) => {
    const [key] = await admin.keys.list({ account: res.locals.account, credentialId: req.params.id })
    if (key === undefined) {
      res.status(404).send('You have no such key.')
      return
    }
    await admin.keys.revoke(key.credentialId)
    res.redirect(303, '/keys')
  })

  routes.post('/apps/:id/cap', async (req, res) => {
    const account = res.locals.account as string
    const { cap } = (req.body ?? {}) as Record<string, string>
    const [grant] = await admin.connectedApps.list({ account, connectedAppIds: [req.params.id], inUse: true })
    if (grant === undefined) res.status(404).send('You have no such app.')
    else if (!cap || !BUDGET_PATTERN.test(cap)) res.status(400).send('A cap is in whole dollars.')
    else {
      await admin.connectedApps.setCap(grant.id, { amount: cap, per: 'month' }, { account })
      res.redirect(303, '/keys')
    }
  })

  routes.post('/apps/:id/disconnect', async (req, res) => {
    if (await admin.connectedApps.revoke(req.params.id, { account: res.locals.account }))
      res.redirect(303, '/keys')
    else res.status(404).send('You have no such app.')
  })

  return routes
}

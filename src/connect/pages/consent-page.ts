import { domainToUnicode } from 'node:url'
import { formatCredits, parseCredits } from '../../base/money.js'
import { isLoopbackRedirect } from '../../base/redirect-uris.js'
import type { ConnectedApp, Markup, Model, RegisteredApp } from '../../contracts/index.js'
import { includesModels } from '../../rules/app-models.js'
import { exceedsMarkup } from '../../rules/markups.js'
import type { EndChoice } from '../model/ends.js'
import type { ConnectUser, Settings } from '../model/options.js'
import { SCOPES } from '../model/scopes.js'
import { type Example, type Terms, TYPICAL_USAGE } from '../model/terms.js'
import { type Html, html } from './html.js'
import { type Frame, page } from './page.js'

/** Everything that the page shows. */
export interface Question {
  readonly user: ConnectUser
  readonly app: RegisteredApp
  readonly redirectUri: string
  readonly terms: Terms
  readonly models: readonly Model[]
  readonly example: Example | undefined
  /** The live connected app, if there is one. */
  readonly connectedApp: ConnectedApp | undefined
  readonly spent: bigint
  /** The prefilled answers, as text. */
  readonly cap: string
  readonly ends: readonly EndChoice[]
  /** The value of the chosen expiry. Undefined if the user has to choose one. */
  readonly end: string | undefined
  readonly capFault: string | undefined
  /** Shown if the page had to be shown again. */
  readonly notice: string | undefined
  /** The MAC of the terms on the page. */
  readonly seal: string
}

const MODELS_SHOWN = 8

export function consentPage(frame: Frame, settings: Settings, question: Question): string {
  const { app, user } = question
  const name = nameOf(app)
  const { credits } = settings.host
  const title = `Connect ${name}?`
  return page(
    frame,
    title,
    user.name,
    html`<form method="post">
<h1>${title}</h1>
${question.notice !== undefined && html`<p class="notice" role="alert">${question.notice}</p>`}
${appPart(frame, settings, question)}
${changesPart(question)}
<h2>${name} may</h2>
<ul>${question.terms.scopes.map((scope) => html`<li>${SCOPES.get(scope)}</li>`)}</ul>
${modelsPart(settings, question)}
<h2>What it costs</h2>
<p>${priceText(name, question.terms.markup, credits)}</p>
${exampleText(name, settings, question.example)}
<p class="muted">${settings.host.name} sets the prices of models, and may change them. ${name} cannot take more for itself unless you agree again.</p>
${capPart(settings, question)}
${endPart(question)}
<input type="hidden" name="seal" value="${question.seal}">
<div class="buttons">
<button class="yes" name="answer" value="allow">Allow</button>
<button name="answer" value="deny" formnovalidate>Deny</button>
</div>
</form>`,
  )
}

export function nameOf({ id, name }: RegisteredApp): string {
  return name ?? id
}

function appPart({ mount }: Frame, { host }: Settings, { app, redirectUri }: Question): Html {
  const target = new URL(redirectUri)
  const shown = domainToUnicode(target.hostname)
  // A program on the user's machine may use any free port.
  const port = target.port === '' || isLoopbackRedirect(redirectUri) ? '' : `:${target.port}`
  const ascii = shown === '' || shown === target.hostname ? '' : ` (${target.hostname})`
  return html`<div class="app">${
    app.logo !== undefined &&
    html`<img src="${mount}/logo/${encodeURIComponent(app.id)}/${app.logo.hash}" alt="">`
  }<div>
<p><strong>${nameOf(app)}</strong>${app.owner === undefined ? '' : ` by ${app.owner}`}</p>
${
  app.site !== undefined &&
  html`<p><a href="${app.site}" rel="noreferrer noopener">${new URL(app.site).host}</a></p>`
}
<p>You will be sent to ${isLoopbackRedirect(redirectUri) && html`a program on your own computer, at `}<strong>${shown === '' ? target.hostname : shown}${port}${ascii}</strong>.</p>
${app.state === 'test' && html`<p class="muted">Not reviewed by ${host.name}.</p>`}
</div></div>`
}

function changesPart({ app, connectedApp, terms }: Question): Html | undefined {
  if (connectedApp === undefined) return undefined
  const wantsMore =
    exceedsMarkup(terms.markup, connectedApp.markup) ||
    !includesModels(connectedApp.models, terms.models) ||
    terms.scopes.some((scope) => !connectedApp.scopes.includes(scope))
  return wantsMore
    ? html`<p class="notice">You have connected ${nameOf(app)} before. It asks for more than you agreed to. Until you agree, it goes on as before.</p>`
    : html`<p class="muted">You have connected ${nameOf(app)} before.</p>`
}

function modelsPart({ host }: Settings, { models, terms }: Question): Html {
  if (terms.models === 'all')
    return html`<h2>Models</h2><p>All models of ${host.name}, later ones too. A later model may cost more.</p>`
  const names = new Map(models.map(({ id, name }) => [id, name ?? id]))
  if (terms.models.length === 0) return html`<h2>Models</h2><p>None.</p>`
  const items = terms.models.map((id) => html`<li>${names.get(id) ?? id}</li>`)
  return items.length <= MODELS_SHOWN
    ? html`<h2>Models</h2><ul>${items}</ul>`
    : html`<h2>Models</h2><ul>${items.slice(0, MODELS_SHOWN)}</ul>
<details><summary>${items.length - MODELS_SHOWN} more</summary><ul>${items.slice(MODELS_SHOWN)}</ul></details>`
}

/** Returns what an app adds to the price of a call, in words. */
export function priceText(name: string, { basisPoints, flat }: Markup, credits: string): string {
  const share = basisPoints === 0 ? undefined : `${basisPoints / 100} %`
  const each = flat === undefined || parseCredits(flat) === 0n ? undefined : `${flat} ${credits} per call`
  if (share === undefined && each === undefined) return `${name} adds nothing to the price.`
  return `${name} adds ${[share, each].filter((part) => part !== undefined).join(' and ')} to the price.`
}

function exampleText(name: string, { host }: Settings, example: Example | undefined): Html | undefined {
  if (example === undefined) return undefined
  const { base, cost, markup, model } = example
  const call = `A typical call of ${model}, ${TYPICAL_USAGE.prompt.toLocaleString('en')} tokens in and ${TYPICAL_USAGE.completion} out,`
  return markup === 0n
    ? html`<p>${call} costs you ${formatCredits(cost)} ${host.credits}.</p>`
    : html`<p>${call} costs you ${formatCredits(cost)} ${host.credits}: ${formatCredits(base)} for ${host.name} and ${formatCredits(markup)} for ${name}.</p>`
}

function capPart({ cap, host }: Settings, { cap: value, capFault, spent }: Question): Html {
  return html`<div class="field">
<label for="cap">The most it may spend in a ${cap.period}, in ${host.credits}</label>
<input id="cap" name="cap" inputmode="decimal" autocomplete="off" maxlength="40" value="${value}" aria-describedby="cap-hint${
    capFault === undefined ? '' : ' cap-fault'
  }"${capFault !== undefined && html` aria-invalid="true"`}${cap.required && html` required`}>
${capFault !== undefined && html`<p class="error" id="cap-fault">${capFault}</p>`}
<p class="hint" id="cap-hint">It counts all that you pay for its calls.${
    cap.max !== undefined && html` At most ${formatCredits(cap.max)}.`
  }${!cap.required && html` Leave it empty for no limit.`} Spent ${cap.period === 'day' ? 'today' : `this ${cap.period}`}: ${formatCredits(spent)}.</p>
</div>`
}

function endPart({ end, ends }: Question): Html {
  return html`<div class="field">
<label for="days">Its access ends</label>
<select id="days" name="days" required>${
    end === undefined && html`<option value="" selected>choose when</option>`
  }${ends.map(
    ({ text, value }) => html`<option value="${value}"${value === end && html` selected`}>${text}</option>`,
  )}</select>
</div>`
}

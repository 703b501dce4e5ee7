import { z } from 'zod'
import { type InputPlace, invalidInput, outOfRange } from '../base/invalid-input.js'
import { parseCredits } from '../base/money.js'
import { redirectUriFault } from '../base/redirect-uris.js'
import type { App, Markup } from '../contracts/index.js'
import { exceedsMarkup } from '../rules/markups.js'
import {
  appModelsSchema,
  creditsSchema,
  labelSchema,
  MAX_OWN_KEYS,
  markupSchema,
  nameSchema,
  originsSchema,
  parseInput,
  whose,
} from '../rules/schemas.js'
import { checkHoldable } from './amounts.js'
import { appNameFault, appNameKeys } from './app-names.js'

/** An app. Users can connect only an app with redirect URIs, which must have a `name`. */
export interface AppRequest extends App {
  /**
   * The addresses to which users may be sent back: https, or http on 127.0.0.1, [::1] or localhost, where the port does
   * not count.
   */
  readonly redirectUris?: readonly string[]
  /**
   * The origins of the browser pages that may use the app's tokens. The default is the origins of the https redirect
   * URIs. If there are none, no page may.
   */
  readonly origins?: readonly string[]
  /** An https address of the app, for its users. */
  readonly site?: string
  /** The cap that the consent page suggests: a decimal string of credits for each period of the host. */
  readonly suggestedCap?: string
  /** The account that may edit the app. By default only the operator may. */
  readonly owner?: string
  /** `test` if only the owner and the testers can connect the app. By default it is live. */
  readonly state?: 'test'
  /** Accounts that can connect the app while it is in `test`; at most 10. */
  readonly testers?: readonly string[]
}

/** An app as its owner writes it. The owner earns the markup, unless an operator sets another account. */
export type OwnAppRequest = Omit<AppRequest, 'account' | 'origins' | 'owner' | 'state'>

/** The host's rules for apps that users can connect. */
export interface AppRules {
  /**
   * Names that no app can have. No new name can contain them as words, or words that look like them. Include the host's
   * own name.
   */
  readonly reservedNames?: readonly string[]
  /** The highest markup of an app, separately for `basisPoints` and `flat`. */
  readonly maxMarkup?: Markup
}

const MAX_REDIRECT_URIS = 20
const MAX_TESTERS = 10
const MAX_URL_CHARS = 2_000

const redirectUriSchema = z.string().superRefine((uri, context) => {
  const message = redirectUriFault(uri)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const siteSchema = z
  .string()
  .max(MAX_URL_CHARS)
  .refine(isSite, 'must be an https address in its normal form, without user and password')

const fields = {
  id: nameSchema,
  name: labelSchema.optional(),
  markup: markupSchema,
  allowedModels: appModelsSchema(),
  redirectUris: z.array(redirectUriSchema).max(MAX_REDIRECT_URIS).readonly().optional(),
  site: siteSchema.optional(),
  suggestedCap: creditsSchema.optional(),
  testers: z.array(nameSchema).max(MAX_TESTERS).readonly().optional(),
}
const appSchema = z.strictObject({
  ...fields,
  account: whose(nameSchema),
  origins: originsSchema.optional(),
  owner: whose(nameSchema),
  state: z.literal('test').optional(),
})
/** The consent page shows the ids of models that are not in the catalogue, so an owner must not write sentences there. */
const modelIdSchema = nameSchema.refine(
  (id) => /^[\x21-\x7e]+$/.test(id),
  'must be a model id: ASCII without spaces',
)
/** Each look-up of a token reads the app, so its owner must not make it large. */
const ownAppSchema = z.strictObject({
  ...fields,
  allowedModels: appModelsSchema(modelIdSchema, MAX_OWN_KEYS),
})

export function readAppRequest(app: AppRequest, rules: AppRules): AppRequest {
  return checkApp(parseInput(appSchema, app, 'app'), rules)
}

export function readOwnAppRequest(app: OwnAppRequest, rules: AppRules): OwnAppRequest {
  return checkApp(parseInput(ownAppSchema, app, 'app'), rules)
}

/** The place of an app's name in a request. */
export const APP_NAME: InputPlace = { of: 'app', field: 'name' }

function checkApp<Request extends OwnAppRequest>(app: Request, rules: AppRules): Request {
  if (app.markup.flat !== undefined)
    checkHoldable(parseCredits(app.markup.flat), { of: 'app', field: 'markup.flat' })
  if (app.suggestedCap !== undefined)
    checkHoldable(parseCredits(app.suggestedCap), { of: 'app', field: 'suggestedCap' })
  if (rules.maxMarkup !== undefined && exceedsMarkup(app.markup, rules.maxMarkup)) {
    const { basisPoints, flat = '0' } = rules.maxMarkup
    throw outOfRange(
      { of: 'app', field: 'markup' },
      `must be at most ${basisPoints} basis points and ${flat} credits per call`,
    )
  }
  if (!isConnectable(app)) return app
  const fault = appNameFault(app.name)
  if (fault !== undefined) throw invalidInput(APP_NAME, fault)
  if (isReserved(appNameKeys(app.name!), rules)) {
    throw invalidInput(APP_NAME, 'is reserved, or looks like a reserved name')
  }
  return app
}

/** Whether one of these keys belongs to a reserved name. */
export function isReserved(keys: ReadonlySet<string>, { reservedNames = [] }: AppRules): boolean {
  return reservedNames.some((name) => [...appNameKeys(name)].some((key) => keys.has(key)))
}

/** Whether users can connect an app and so see its name. */
export function isConnectable({ redirectUris = [] }: Pick<AppRequest, 'redirectUris'>): boolean {
  return redirectUris.length > 0
}

function isSite(site: string): boolean {
  if (!URL.canParse(site)) return false
  const url = new URL(site)
  const isNormal = url.href === site || url.href === `${site}/`
  return isNormal && url.protocol === 'https:' && url.username === '' && url.password === ''
}

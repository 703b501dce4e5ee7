import { CompatError } from '../../base/errors.js'
import type { Principal } from '../../contracts/credentials.js'
import type { Operation } from '../../contracts/operation.js'
import type { OwnFields } from '../../protocol/request-fields/own-fields.js'
import { includesModel } from '../../rules/app-models.js'

/** Refuses an access token that lacks the scope of an operation. */
export function authoriseScope(principal: Principal, { path, scope }: Operation): void {
  if (principal.kind === 'api-key' || principal.scopes.includes(scope)) return
  throw new CompatError(
    'insufficient_scope',
    `This access token lacks the scope ${scope}, which POST ${path} needs.`,
    { metadata: { scope } },
  )
}

/** Refuses a credential that may not use this model. Refuses an access token if the request names another app. */
export function authoriseModel(principal: Principal, model: string, own: OwnFields): void {
  authoriseKeyModel(principal, model)
  if (principal.kind === 'api-key') return
  const { app } = principal
  if (own.appId !== undefined && own.appId !== app.id) {
    throw new CompatError('app_mismatch', 'app_id does not name the app that this access token belongs to.', {
      param: 'app_id',
    })
  }
  if (!includesModel(app.allowedModels, model)) {
    throw new CompatError('model_not_allowed', `The app '${app.id}' may not use the model '${model}'.`, {
      param: 'model',
    })
  }
}

/**
 * Whether an API key has a list of models without this one. Access tokens see every model, since their list belongs to
 * the app.
 */
export function isHiddenFrom(principal: Principal, model: string): boolean {
  return principal.kind === 'api-key' && principal.allowedModels?.includes(model) === false
}

/** Refuses an API key that may not use this model. */
export function authoriseKeyModel(principal: Principal, model: string): void {
  if (!isHiddenFrom(principal, model)) return
  throw new CompatError('model_not_allowed', `This API key may not use the model '${model}'.`, {
    param: 'model',
  })
}

import type { Principal } from '../../contracts/credentials.js'
import { CompatError } from '../../errors.js'
import type { OwnFields } from '../../protocol/chat-request.js'

const RUN_SCOPE = 'models.run'

/** Whether this principal may run a completion at all. */
export function authoriseScope(principal: Principal): void {
  if (principal.kind === 'api-key' || principal.scopes.includes(RUN_SCOPE)) return
  throw new CompatError(
    'insufficient_scope',
    `This access token lacks the scope ${RUN_SCOPE}, which chat completions need.`,
    {
      metadata: { scope: RUN_SCOPE },
    },
  )
}

/** Whether this principal may run this model, and names its own app. */
export function authoriseModel(principal: Principal, model: string, own: OwnFields): void {
  if (principal.kind === 'api-key') return
  const { app } = principal
  if (own.appId !== undefined && own.appId !== app.id) {
    throw new CompatError('app_mismatch', 'app_id does not name the app that this access token belongs to.', {
      param: 'app_id',
    })
  }
  if (!app.allowedModels.includes(model)) {
    throw new CompatError('model_not_allowed', `The app '${app.id}' may not use the model '${model}'.`, {
      param: 'model',
    })
  }
}

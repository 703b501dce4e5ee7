import type { SqlDatabase } from '../sql/database.js'
import { bindingOf } from '../sql/route-rows.js'
import type { SecretBox } from '../sql/secret-box.js'
import { readRoutes } from './routes.js'

/** Seals every secret again that is not sealed under the current key. Returns their number. */
export async function rotateSecrets(database: SqlDatabase, secrets: SecretBox): Promise<number> {
  let count = 0
  for (const { id, modelId, definition, secret } of await readRoutes(database, {})) {
    if (secret === undefined || secrets.isCurrent(secret.keyId)) continue
    const binding = bindingOf(id, definition)
    const sealed = secrets.seal(secrets.open(secret, binding).reveal(), binding)
    // If the secret was changed in the meantime, it is sealed under the current key already.
    const [rotated] = await database.batch([
      {
        text: 'update {routes} set secret_key_id = ?1, secret = ?2 where id = ?3 and secret = ?4 returning id',
        parameters: [sealed.keyId, sealed.sealed, id, secret.sealed],
      },
      database.change('routes', modelId),
    ])
    count += rotated!.length
  }
  return count
}

import type { Command } from 'commander'
import type { RouteRequest } from '../../admin/index.js'
import { readJsonFile } from '../session/parse.js'
import type { CommandContext } from '../session/session.js'

export function addRouteCommands(program: Command, session: CommandContext): void {
  const routes = program.command('routes').description('manage the providers that serve each model')
  routes
    .command('put <file>')
    .description(
      "add or replace a route from JSON; - reads standard input. The provider's key comes from PROVIDER_SECRET",
    )
    .option('--secret-stdin', "read the provider's key from standard input instead")
    .action(async (path: string, { secretStdin }: { secretStdin?: boolean }) => {
      if (secretStdin && path === '-')
        throw new TypeError('The route and its secret cannot both come from standard input')
      const route = await readJsonFile<RouteRequest>(path, session)
      const secret = secretStdin ? (await session.readStdin()).trim() : session.env.PROVIDER_SECRET
      if (secret && !session.env.COMPAT_ROUTER_SECRET_KEYS) {
        throw new Error(
          "To store a provider's key, set COMPAT_ROUTER_SECRET_KEYS=id:key to the secretKeys of your routers, 32 bytes each as hex or base64",
        )
      }
      await (await session.admin()).routes.put(
        secret === undefined || secret === '' ? route : { ...route, secret },
      )
      session.say(`${route.id} serves ${route.model}`)
    })
  routes
    .command('remove <route>')
    .description('remove a route')
    .action(async (id: string) => {
      const known = await (await session.admin()).routes.remove(id)
      if (!known) throw new Error(`There is no route ${id}`)
      session.say(`${id}: removed`)
    })
  routes
    .command('list')
    .description('list all routes in order')
    .option('--model <model>', 'only routes of this model')
    .action(async (query: { model?: string }) => {
      const rows = await (await session.reader()).routes.list(query)
      session.show(
        rows,
        rows.map((route) => ({
          route: route.id,
          model: route.model,
          provider: route.provider,
          adapter: route.adapter,
          upstream: route.upstreamModel,
          enabled: route.enabled ?? true,
          "callers' keys": route.byok ?? 'no',
          'secret under': route.secretKeyId,
        })),
      )
    })
  routes
    .command('rotate-secrets')
    .description('seal all secrets again under the first key of COMPAT_ROUTER_SECRET_KEYS')
    .action(async () => {
      const count = await (await session.admin()).maintenance.rotateSecrets()
      session.say(`${count === 1 ? '1 secret' : `${count} secrets`} sealed again`)
    })
}

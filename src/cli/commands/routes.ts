import type { RouteRequest } from '../../admin/index.js'
import { readJsonFile } from '../context/parse.js'
import type { Noun } from './noun.js'

export const routes: Noun = {
  about: 'the providers that serve each model',
  verbs: {
    'put <file>': (command, context) =>
      command
        .description(
          "add or replace a route from JSON; - reads standard input. The provider's key comes from PROVIDER_SECRET",
        )
        .option('--secret-stdin', "read the provider's key from standard input instead")
        .action(async (path: string, { secretStdin }: { secretStdin?: boolean }) => {
          if (secretStdin && path === '-')
            throw new TypeError('The route and its secret cannot both come from standard input')
          const route = await readJsonFile<RouteRequest>(path, context)
          const secret = secretStdin ? (await context.readStdin()).trim() : context.env.PROVIDER_SECRET
          if (secret && !context.env.COMPAT_ROUTER_SECRET_KEYS) {
            throw new Error(
              "To store a provider's key, set COMPAT_ROUTER_SECRET_KEYS=id:key to the secretKeys of your routers, 32 bytes each as hex or base64",
            )
          }
          const admin = await context.admin()
          await admin.routes.put(secret === undefined || secret === '' ? route : { ...route, secret })
          context.say(`${route.id} serves ${route.model}`)
          const known = await admin.models.list({ modelIds: [route.model] })
          if (known.length === 0)
            context.say(
              `There is no model ${route.model} yet: calls to it get 404 until models put makes it.`,
            )
        }),

    'remove <route>': (command, context) =>
      command.description('remove a route').action(async (id: string) => {
        const known = await (await context.admin()).routes.remove(id)
        if (!known) throw new Error(`There is no route ${id}`)
        context.say(`${id}: removed`)
      }),

    list: (command, context) =>
      command
        .description('list all routes in order')
        .option('--model <model>', 'only routes of this model')
        .action(async (query: { model?: string }) => {
          const rows = await (await context.reader()).routes.list(query)
          context.show(
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
        }),
  },
}

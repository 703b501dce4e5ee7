import type { RouteView } from '../../protocol.js'
import { write } from '../base/api.js'
import type { Place } from '../base/place.js'
import { Problem } from '../base/problem.js'
import { useLoad } from '../base/use-load.js'
import { Badge, Button, Id, PageHead, RowButton } from '../parts/basics.js'
import { parameterFields, priceFields, readParameters, readPrices } from '../parts/catalogue-fields.js'
import { type FieldSpec, selectField } from '../parts/fields.js'
import { Filters } from '../parts/filters.js'
import { Empty, Listing } from '../parts/notice.js'
import { json, needed, wholeNumber } from '../parts/read-values.js'
import { Table } from '../parts/table.js'
import { useActions } from '../parts/use-actions.js'
import { healthColumns } from './live.js'

/** The names in the documentation. A host may use others, which can be typed. */
const ADAPTERS = ['openai-compatible', 'anthropic'] as const

export function Routes({ query }: { query: Place['query'] }) {
  const routes = useLoad('routes', {})
  const models = useLoad('models', {})
  const actions = useActions(routes.reload)
  const ids = models.data?.models.map(({ id }) => id) ?? []
  const adapters = [...new Set([...(routes.data?.routes ?? []).map(({ adapter }) => adapter), ...ADAPTERS])]

  const edit = (route?: RouteView): void =>
    actions.form({
      title: route === undefined ? 'Add a route' : `Change ${route.id}`,
      intro: 'How calls for a model reach a provider.',
      action: route === undefined ? 'Add it' : 'Save',
      fields: fieldsOf(route, query.model, ids, adapters),
      run: async (values) => {
        const id = needed(values, 'id')
        const { warnings } = await write('routes/put', {
          id,
          model: needed(values, 'model'),
          provider: needed(values, 'provider'),
          adapter: needed(values, 'adapter'),
          upstreamModel: needed(values, 'upstreamModel'),
          settings: settingsOf(json(values, 'settings')),
          secret: values.text('secretState') === 'remove' ? null : values.text('secret'),
          enabled: values.text('enabled') !== 'no',
          byok: values.text('byok') as RouteView['byok'],
          onDisconnect: values.text('onDisconnect') as RouteView['onDisconnect'],
          promptEscapes: values.text('promptEscapes') as RouteView['promptEscapes'],
          weight: weightOf(values.text('weight')),
          supportedParameters: readParameters(values),
          defaultOutputTokens: wholeNumber(values, 'defaultOutputTokens'),
          prices: readPrices(values),
          was: storedOf(route),
        })
        return [`Saved the route ${id}.`, ...(warnings ?? [])].join(' ')
      },
    })

  const remove = ({ id, model }: RouteView): void =>
    actions.confirm({
      title: `Remove the route ${id}?`,
      intro: (
        <p>
          Calls for {model} no longer use it, and its secret is deleted. If it was the last route, the calls
          are refused.
        </p>
      ),
      action: 'Remove it',
      run: () => write('routes/remove', { id }),
      done: () => `Removed the route ${id}.`,
    })

  const rotate = (): void =>
    actions.confirm({
      title: 'Seal all secrets again?',
      intro:
        "Every provider's key that is not sealed under the first secret key is sealed under it. After that, the older secret keys are no longer needed.",
      action: 'Seal them again',
      run: () => write('maintenance/rotate-secrets', {}),
      done: ({ count }) =>
        count === 0
          ? 'All secrets were already sealed under the current key.'
          : `Sealed ${count} secrets again.`,
    })

  return (
    <>
      <PageHead title="Routes" lead="The providers that serve each model, and their health.">
        <Button onPress={rotate}>Rotate secrets</Button>
        <Button
          tone="primary"
          onPress={() => edit()}
          isDisabled={routes.data === undefined && routes.isLoading}
        >
          Add a route
        </Button>
      </PageHead>
      <Filters specs={[{ name: 'model', label: 'Model', suggestions: ids }]} query={query} />
      <Listing what="routes" loaded={routes}>
        {({ routes: all }) => {
          const found = query.model ? all.filter(({ model }) => model === query.model) : all
          return found.length === 0 ? (
            <Empty
              title={
                query.model
                  ? `No route in the database serves ${query.model}.`
                  : 'There is no route in the database.'
              }
            >
              Add one, unless the host of this server defines its routes in its own code: those appear under
              Live.
            </Empty>
          ) : (
            <Table
              caption="Routes"
              rows={found}
              keyOf={({ id }) => id}
              columns={[
                {
                  head: 'Route',
                  cell: (route) => <RouteName of={route} />,
                  sortBy: ({ id }) => id,
                },
                { head: 'Model', cell: ({ model }) => <Id of={model} />, sortBy: ({ model }) => model },
                {
                  head: 'Provider',
                  sortBy: ({ provider }) => provider,
                  cell: ({ provider, upstreamModel }) => (
                    <>
                      {provider}: <Id of={upstreamModel} />
                    </>
                  ),
                },
                {
                  head: 'Secret',
                  cell: ({ secretKeyId }) =>
                    secretKeyId === undefined ? 'none' : `sealed, key ${secretKeyId}`,
                },
                {
                  head: 'Use',
                  cell: ({ enabled }) =>
                    enabled === false ? <Badge tone="warn">off</Badge> : <Badge tone="good">on</Badge>,
                },
                ...healthColumns.map((column) => ({
                  ...column,
                  cell: ({ health }: RouteView) => column.cell(health),
                })),
              ]}
              actions={(route) => (
                <>
                  <RowButton label="Change" of={route.id} onPress={() => edit(route)} />
                  <RowButton label="Remove" of={route.id} onPress={() => remove(route)} />
                </>
              )}
            />
          )
        }}
      </Listing>
    </>
  )
}

/** The id of a route, and the reason why no call can use it. */
export function RouteName({
  of: { id, cannotBeUsed },
}: {
  of: { readonly id: string; readonly cannotBeUsed?: string }
}) {
  return (
    <>
      <Id of={id} />
      {cannotBeUsed !== undefined && (
        <span class="row-warning">
          <Badge tone="bad">cannot be used</Badge> {cannotBeUsed}
        </span>
      )}
    </>
  )
}

function fieldsOf(
  route: RouteView | undefined,
  model: string | undefined,
  ids: readonly string[],
  adapters: readonly string[],
): readonly FieldSpec[] {
  const hasSecret = route?.secretKeyId !== undefined
  return [
    {
      name: 'id',
      label: 'Id',
      isRequired: true,
      value: route?.id,
      isFixed: route !== undefined,
      placeholder: 'openai-fast',
    },
    { name: 'model', label: 'Model', isRequired: true, value: route?.model ?? model, suggestions: ids },
    {
      name: 'provider',
      label: 'Provider',
      isRequired: true,
      value: route?.provider,
      hint: 'The name that callers use.',
    },
    {
      name: 'adapter',
      label: 'Adapter',
      isRequired: true,
      value: route?.adapter ?? adapters[0],
      suggestions: adapters,
      hint: 'One of those that the host passed to its stores.',
    },
    {
      name: 'upstreamModel',
      label: "The provider's name for the model",
      isRequired: true,
      value: route?.upstreamModel,
    },
    {
      name: 'settings',
      label: 'Settings, as JSON',
      kind: 'area',
      value: route === undefined ? undefined : JSON.stringify(route.settings, undefined, 2),
      placeholder: '{ "baseUrl": "https://api.example.com/v1" }',
      hint: 'Never a key. Enter it below, where it is kept sealed.',
    },
    {
      name: 'secret',
      label: "The provider's key",
      kind: 'secret',
      hint: hasSecret ? 'If empty, the stored key stays.' : 'Kept sealed, and never shown.',
    },
    ...(hasSecret
      ? [selectField('secretState', 'The stored key', 'keep', { keep: 'stays', remove: 'is removed' })]
      : []),
    selectField('enabled', 'Use', route?.enabled === false ? 'no' : 'yes', { yes: 'on', no: 'off' }),
    selectField('byok', "Callers' own keys", route?.byok ?? '', {
      '': 'may not be used, by default',
      no: 'may not be used',
      yes: "may be used in place of the host's",
      only: 'are required; the provider checks them',
    }),
    selectField('onDisconnect', 'When a client leaves', route?.onDisconnect ?? '', {
      '': 'by default',
      drain: 'read the reply to its end',
      abort: 'close the connection',
    }),
    selectField('promptEscapes', 'Escapes in the prompt', route?.promptEscapes ?? '', {
      '': 'none, by default',
      html: 'of < > & and quotes, as by Ollama and TGI',
      ascii: 'of everything but ASCII',
    }),
    {
      name: 'weight',
      label: 'Weight',
      value: route?.weight?.toString(),
      hint: 'Distributes calls among routes that have a weight.',
    },
    {
      name: 'defaultOutputTokens',
      label: 'Reply without a limit, tokens',
      value: route?.defaultOutputTokens?.toString(),
      hint: "In place of the model's.",
    },
    ...parameterFields(route?.supportedParameters, 'Separated by commas.'),
    ...priceFields(route?.prices),
  ]
}

/** Returns the route without what the list adds to it. */
function storedOf(route: RouteView | undefined): object | undefined {
  if (route === undefined) return undefined
  const { health, cannotBeUsed, ...stored } = route
  return stored
}

function settingsOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new Problem('This must be an object, such as { "baseUrl": "https://…" }.', { field: 'settings' })
}

function weightOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const weight = Number(text)
  if (!(weight >= 0)) throw new Problem('This must be a number of at least 0, or empty.', { field: 'weight' })
  return weight
}

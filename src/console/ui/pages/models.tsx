import type { ModelView } from '../../protocol.js'
import { write } from '../base/api.js'
import { formatCount } from '../base/format.js'
import { hrefOf, type Place } from '../base/place.js'
import { Problem } from '../base/problem.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Badge, Button, PageHead, RowButton, RowLink } from '../parts/basics.js'
import { parameterFields, priceFields, readParameters, readPrices } from '../parts/catalogue-fields.js'
import type { Values } from '../parts/dialogs.js'
import { Filters, PART_HINT, withPart } from '../parts/filters.js'
import { Empty, Listing } from '../parts/notice.js'
import { list, needed, wholeNumber } from '../parts/read-values.js'
import { Table } from '../parts/table.js'
import { useActions } from '../parts/use-actions.js'
import { NamedId } from '../parts/values.js'

export function Models({ query }: { query: Place['query'] }) {
  const isForOperator = isOperator(useSession().viewer)
  const models = useLoad('models', {})
  const actions = useActions(models.reload)

  const edit = (model?: ModelView): void =>
    actions.form({
      title: model === undefined ? 'Add a model' : `Change ${model.id}`,
      intro: 'New calls are charged at these prices. Past charges stay as they are.',
      action: model === undefined ? 'Add it' : 'Save',
      fields: [
        {
          name: 'id',
          label: 'Id',
          isRequired: true,
          value: model?.id,
          isFixed: model !== undefined,
          placeholder: 'acme/fast',
          hint: 'The value that clients send as model.',
        },
        { name: 'name', label: 'Name', value: model?.name },
        ...priceFields(model?.prices),
        {
          name: 'priceVersion',
          label: 'Price version',
          value: model?.priceVersion,
          hint: 'Stored with every charge.',
        },
        { name: 'contextLength', label: 'Context, tokens', value: model?.contextLength?.toString() },
        {
          name: 'maxOutputTokens',
          label: 'Longest reply, tokens',
          value: model?.maxOutputTokens?.toString(),
        },
        {
          name: 'defaultOutputTokens',
          label: 'Reply without a limit, tokens',
          value: model?.defaultOutputTokens?.toString(),
          hint: 'The limit of calls that set none, if the router must send one.',
        },
        {
          name: 'mediaTokens',
          label: 'Largest image or file, tokens',
          value: mediaTokensText(model?.mediaTokens),
          hint: 'A hold covers this many for each. One number, or one for each kind: image 1600, audio 8000, video 30000, pdf 90000, archive 90000.',
        },
        {
          name: 'promptOverhead',
          label: 'Added to a prompt by the provider, tokens',
          value: model?.promptOverhead?.toString(),
          hint: 'The maximum for its own template and instructions. Counts under neverOverdraw.',
        },
        {
          name: 'dimensions',
          label: 'Numbers in an embedding',
          value: model?.dimensions?.toString(),
          hint: 'At most. If empty, 4,096. A batch of texts may take as much memory as its numbers need.',
        },
        ...parameterFields(
          model?.supportedParameters,
          'Separated by commas. A request with any other is refused. If it accepts all, the provider decides.',
        ),
        { name: 'description', label: 'Description', kind: 'area', value: model?.description },
      ],
      run: async (values) => {
        const id = needed(values, 'id')
        const { created, ownedBy, root, parent, operations, modalities } = model ?? {}
        await write('models/put', {
          id,
          created,
          ownedBy,
          root,
          parent,
          operations,
          modalities,
          name: values.text('name'),
          description: values.text('description'),
          priceVersion: values.text('priceVersion'),
          prices: readPrices(values),
          contextLength: wholeNumber(values, 'contextLength'),
          maxOutputTokens: wholeNumber(values, 'maxOutputTokens'),
          defaultOutputTokens: wholeNumber(values, 'defaultOutputTokens'),
          mediaTokens: readMediaTokens(values),
          promptOverhead: wholeNumber(values, 'promptOverhead'),
          dimensions: wholeNumber(values, 'dimensions'),
          supportedParameters: readParameters(values),
          was: model,
        })
        return `Saved the model ${id}.`
      },
    })

  const remove = ({ id }: ModelView): void =>
    actions.confirm({
      title: `Remove ${id} from the catalogue?`,
      intro: 'From now on, calls for it are answered with 404. Its routes and past charges stay.',
      action: 'Remove it',
      run: () => write('models/remove', { id }),
      done: () => `Removed ${id}.`,
    })

  return (
    <>
      <PageHead
        title="Models"
        lead="The models on offer. Prices are in credits per million tokens, before any markup."
      >
        {isForOperator && (
          <Button tone="primary" onPress={() => edit()}>
            Add a model
          </Button>
        )}
      </PageHead>
      <Filters specs={[{ name: 'model', label: 'Model', hint: PART_HINT }]} query={query} />
      <Listing what="models" loaded={models}>
        {({ models: all }) => {
          const found = withPart(all, query.model)
          return found.length === 0 ? (
            <Empty title={query.model ? 'No model matches this filter.' : 'The catalogue is empty.'}>
              {isForOperator
                ? 'Add a model with its prices, then a route that serves it.'
                : 'Ask the operator to offer a model.'}
            </Empty>
          ) : (
            <Table
              caption="Models"
              rows={found}
              keyOf={({ id }) => id}
              columns={[
                { head: 'Model', cell: (model) => <NamedId of={model} />, sortBy: ({ id }) => id },
                {
                  head: 'Input',
                  isNumber: true,
                  sortBy: ({ prices }) => prices?.input,
                  cell: ({ prices }) => prices?.input ?? <Badge tone="bad">no price</Badge>,
                },
                { head: 'Cached', isNumber: true, cell: ({ prices }) => prices?.cachedInput ?? '–' },
                {
                  head: 'Output',
                  isNumber: true,
                  sortBy: ({ prices }) => prices?.output,
                  cell: ({ prices }) => prices?.output ?? '–',
                },
                { head: 'Per call', isNumber: true, cell: ({ prices }) => prices?.request ?? '–' },
                {
                  head: 'Context',
                  isNumber: true,
                  sortBy: ({ contextLength }) => contextLength,
                  cell: ({ contextLength }) =>
                    contextLength === undefined ? '–' : formatCount(contextLength),
                },
                { head: 'Price version', cell: ({ priceVersion }) => priceVersion ?? '–' },
              ]}
              actions={(model) => (
                <>
                  <RowLink label="Try" of={model.id} href={hrefOf('playground', { model: model.id })} />
                  {isForOperator && (
                    <>
                      <RowLink
                        label="Routes"
                        of={`of ${model.id}`}
                        href={hrefOf('routes', { model: model.id })}
                      />
                      <RowButton label="Change" of={model.id} onPress={() => edit(model)} />
                      <RowButton label="Remove" of={model.id} onPress={() => remove(model)} />
                    </>
                  )}
                </>
              )}
            />
          )
        }}
      </Listing>
    </>
  )
}

type MediaTokens = ModelView['mediaTokens']

const NAME = 'mediaTokens'

/** Returns one number, or pairs such as `image 1600, pdf 90000`. */
function mediaTokensText(tokens: MediaTokens): string | undefined {
  if (typeof tokens !== 'object') return tokens?.toString()
  return Object.entries(tokens)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', ')
}

/** Returns the tokens from the text of {@link mediaTokensText}. The server defines the kinds. */
function readMediaTokens(values: Values): MediaTokens {
  const pairs = list(values, NAME).map((pair) => /^([a-z]+)[\s:]+(\d{1,15})$/i.exec(pair))
  if (pairs.length === 0 || /^\d+$/.test(values.text(NAME) ?? '')) return wholeNumber(values, NAME)
  const found = pairs.filter((pair) => pair !== null)
  if (found.length < pairs.length) {
    throw new Problem('This must be a whole number, or pairs such as image 1600, pdf 90000.', { field: NAME })
  }
  return Object.fromEntries(found.map(([, kind, count]) => [kind!.toLowerCase(), Number(count)]))
}

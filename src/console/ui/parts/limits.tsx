import type { LimitView } from '../../protocol.js'
import { write } from '../base/api.js'
import { Problem } from '../base/problem.js'
import { isOperator, useSession } from '../base/session.js'
import { RowButton, Time } from './basics.js'
import { needed } from './read-values.js'
import { useActions } from './use-actions.js'

const UNITS = ['credits', 'requests', 'tokens'] as const
const PERIODS = ['minute', 'hour', 'day', 'week', 'month', 'total'] as const

type Owner = Pick<LimitView, 'of' | 'ownerId'> & {
  /** For people. */
  readonly name: string
}

/** The limits of one owner, with their use. An operator can set, change and remove them. */
export function Limits(props: { owner: Owner; limits: readonly LimitView[]; reload: () => void }) {
  const { owner, limits, reload } = props
  const isForOperator = isOperator(useSession().viewer)
  const actions = useActions(reload)
  const own = limits.filter(({ ownerId }) => ownerId === owner.ownerId)

  const set = (limit?: LimitView): void =>
    actions.form({
      title: limit === undefined ? `Limit ${owner.name}` : `Change the limit ${limit.id}`,
      intro:
        'Calls beyond a limit are refused, across all processes. A new amount counts from the next call on; another unit, period or zone starts to count from 0.',
      action: 'Save',
      fields: [
        {
          name: 'id',
          label: 'Name of the limit',
          isRequired: true,
          value: limit?.id,
          isFixed: limit !== undefined,
          hint: 'Events and the list of calls name it when a call is refused.',
        },
        { name: 'amount', label: 'At most', isRequired: true, value: limit?.amount, placeholder: '20' },
        {
          name: 'unit',
          label: 'Of what',
          kind: 'select',
          options: UNITS.map((unit) => ({ value: unit, label: unit })),
          value: limit?.unit ?? 'credits',
        },
        {
          name: 'per',
          label: 'In which period',
          kind: 'select',
          options: PERIODS.map((per) => ({ value: per, label: periodOf({ per }) })),
          value: limit?.per ?? 'month',
        },
        {
          name: 'zone',
          label: 'Time zone',
          value: limit?.zone,
          placeholder: 'Europe/Paris',
          hint: 'In which days, weeks and months begin. UTC by default.',
        },
      ],
      run: async (values) => {
        const id = needed(values, 'id')
        if (limit === undefined && own.some((other) => other.id === id)) {
          throw new Problem('There is a limit of this name. Change that one, or choose another name.', {
            field: 'id',
          })
        }
        await write('limits/put', {
          id,
          of: owner.of,
          ownerId: owner.ownerId,
          amount: needed(values, 'amount'),
          unit: UNITS.find((unit) => unit === values.text('unit'))!,
          per: PERIODS.find((per) => per === values.text('per'))!,
          zone: values.text('zone'),
        })
        return `Saved the limit ${id}.`
      },
    })

  const remove = ({ id }: LimitView): void =>
    actions.confirm({
      title: `Remove the limit ${id}?`,
      intro: 'Within a second, calls are no longer limited by it.',
      action: 'Remove it',
      run: () => write('limits/remove', { id }),
      done: () => `Removed the limit ${id}.`,
    })

  return (
    <div class="limits">
      {own.map((limit) => (
        <div key={limit.id} class="limit">
          <LimitUse of={limit} />
          {isForOperator && (
            <span class="action-group">
              <RowButton label="Change" of={`the limit ${limit.id}`} onPress={() => set(limit)} />
              <RowButton label="Remove" of={`the limit ${limit.id}`} onPress={() => remove(limit)} />
            </span>
          )}
        </div>
      ))}
      {own.length === 0 && !isForOperator && '–'}
      {isForOperator && <RowButton label="Set a limit" of={`for ${owner.name}`} onPress={() => set()} />}
    </div>
  )
}

/** The bar shows the part that is used or held. The text has the exact figures. */
export function LimitUse({ of: limit }: { of: LimitView }) {
  const { id, amount, used, held, left, unit, endsAt, zone } = limit
  const most = Number(amount)
  const taken = most - Number(left)
  return (
    <>
      <span class="limit-name">{id}</span>
      <meter
        min={0}
        max={most > 0 ? most : 1}
        high={most * HIGH}
        value={most > 0 ? taken : 1}
        aria-label={`Use of the limit ${id}`}
      />
      <span class="limit-figures">
        {used} of {amount} {unit} used {periodOf(limit)}
        {held !== '0' && `, ${held} held`}, {left} left
        {endsAt !== undefined && (
          <>
            {' '}
            until <Time at={endsAt} zone={zone ?? 'UTC'} />
            {` (${zone ?? 'UTC'})`}
          </>
        )}
      </span>
    </>
  )
}

/** From this fraction of a limit on, its bar warns. */
const HIGH = 0.8

function periodOf({ per }: Pick<LimitView, 'per'>): string {
  return per === 'total' ? 'in total' : `per ${per}`
}

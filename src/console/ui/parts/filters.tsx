import { useLayoutEffect, useRef } from 'preact/hooks'
import { changeQuery, isLeaving, type Place } from '../base/place.js'
import { isOperator, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Button } from './basics.js'
import { Field, type FieldSpec } from './fields.js'
import { useFoundAccounts, useFoundApps } from './found.js'

/** As many fields are in one line. If there are more, those after the first ones fold away. */
const MOST_SHOWN = 5
const FIRST_SHOWN = 4

/** Fields whose values are in the address. They apply as soon as a field is left or an option is chosen. */
export function Filters({ specs, query }: { specs: readonly FieldSpec[]; query: Place['query'] }) {
  const form = useRef<HTMLFormElement>(null)
  // Updates the existing elements, so that they keep the focus.
  useLayoutEffect(() => {
    for (const element of form.current!.elements) {
      if (element instanceof HTMLInputElement || element instanceof HTMLSelectElement) {
        element.value = query[element.name] ?? ''
      }
    }
  }, [query])
  const apply = (): void => {
    // A field also reports a change if it is removed, or left for another page, while somebody types into it.
    if (form.current === null || isLeaving()) return
    const data = new FormData(form.current)
    changeQuery(Object.fromEntries(specs.map(({ name }) => [name, String(data.get(name) ?? '').trim()])))
  }
  const isSet = specs.some(({ name }) => (query[name] ?? '') !== '')
  const isLong = specs.length > MOST_SHOWN
  const shown = isLong ? specs.slice(0, FIRST_SHOWN) : specs
  const folded = isLong ? specs.slice(FIRST_SHOWN) : []
  const clear = (): void => changeQuery(Object.fromEntries(specs.map(({ name }) => [name, undefined])))
  return (
    <form
      ref={form}
      class="filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault()
        apply()
      }}
      onChange={apply}
    >
      <div class="filter-fields">
        {shown.map((spec) => (
          <Field key={spec.name} spec={spec} formId="filter" />
        ))}
        {isSet && (
          <Button tone="quiet" onPress={clear}>
            Clear filters
          </Button>
        )}
      </div>
      {folded.length > 0 && (
        <details open={folded.some(({ name }) => (query[name] ?? '') !== '')}>
          <summary>More filters</summary>
          <div class="filter-fields">
            {folded.map((spec) => (
              <Field key={spec.name} spec={spec} formId="filter" />
            ))}
          </div>
        </details>
      )}
    </form>
  )
}

export const PART_HINT = 'Its name or id, or part of it.'

/** Returns the rows whose name or id contains `part`, ignoring case. */
export function withPart<Row extends { readonly id: string; readonly name?: string }>(
  rows: readonly Row[],
  part = '',
): readonly Row[] {
  const wanted = part.toLowerCase()
  return rows.filter(({ id, name = '' }) => [id, name].some((text) => text.toLowerCase().includes(wanted)))
}

/** The fields that choose an account (only for an operator), a model, and an app. */
export function useSubjectSpecs({ hasApp = true }: { hasApp?: boolean } = {}): readonly FieldSpec[] {
  const isForOperator = isOperator(useSession().viewer)
  const models = useLoad('models', {})
  return [
    ...(isForOperator ? [{ name: 'account', label: 'Account', useFound: useFoundAccounts }] : []),
    { name: 'model', label: 'Model', suggestions: models.data?.models.map(({ id }) => id) ?? [] },
    ...(hasApp ? [{ name: 'appId', label: 'App', useFound: useFoundApps }] : []),
  ]
}

/** Returns the fields that the address has a value for. A search sets them; nobody types such an id. */
export function setSpecs(query: Place['query'], specs: readonly FieldSpec[]): readonly FieldSpec[] {
  return specs.filter(({ name }) => query[name])
}

export const daySpecs: readonly FieldSpec[] = [
  { name: 'fromDay', label: 'From', kind: 'date' },
  { name: 'toDay', label: 'To', kind: 'date' },
]

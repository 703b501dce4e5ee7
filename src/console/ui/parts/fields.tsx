import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

export interface FieldSpec {
  /** The API's name of the field, so that its errors appear at the field. */
  readonly name: string
  readonly label: string
  /** `checks` allows any number of the options; every other kind is one text. */
  readonly kind?: 'text' | 'area' | 'select' | 'date' | 'checks' | 'secret' | 'file'
  readonly hint?: string
  readonly value?: string | undefined
  readonly values?: readonly string[]
  readonly options?: readonly Option[]
  readonly isRequired?: boolean
  readonly isFixed?: boolean
  readonly placeholder?: string
  /** The types of files that may be chosen. */
  readonly accept?: string
  /** Suggested values; any other value may be entered. */
  readonly suggestions?: readonly string[]
  /**
   * A hook that finds matches for a typed part: more options of a `select`, or suggestions for a text. A field always
   * has one or never.
   */
  readonly useFound?: (part: string) => Found
}

export interface Option {
  readonly value: string
  readonly label: string
}

export interface Found {
  readonly options: readonly Option[]
  /** Whether there are more matches. */
  readonly isMore: boolean
}

/** A choice between values with their labels. */
export function selectField(
  name: string,
  label: string,
  value: string,
  options: Readonly<Record<string, string>>,
): FieldSpec {
  const listed = Object.entries(options).map(([key, text]) => ({ value: key, label: text }))
  return { name, label, kind: 'select', value, options: listed }
}

interface FieldProps {
  readonly spec: FieldSpec
  /** Distinguishes the fields of one form from those of another. */
  readonly formId: string
  readonly complaint?: string | undefined
  /** Called with each value that is chosen or typed. */
  readonly onInput?: (value: string) => void
}

/** A label, an input, a hint and a complaint. */
export function Field({ spec, formId, complaint, onInput }: FieldProps) {
  const id = `${formId}-${spec.name}`
  const notes = [
    ...(spec.hint === undefined ? [] : [`${id}-hint`]),
    ...(complaint === undefined ? [] : [`${id}-complaint`]),
  ].join(' ')
  const rest = (
    <>
      {spec.hint !== undefined && (
        <span class="hint" id={`${id}-hint`}>
          {spec.hint}
        </span>
      )}
      {complaint !== undefined && (
        <span class="complaint" id={`${id}-complaint`}>
          {complaint}
        </span>
      )}
    </>
  )
  if (spec.kind === 'checks') return <Checks spec={spec} id={id} rest={rest} />
  return (
    <div class={`field ${spec.kind === 'area' ? 'is-area' : ''}`}>
      <label for={id}>
        {spec.label}
        {spec.isRequired === true && <span class="required"> (required)</span>}
      </label>
      <Input spec={spec} id={id} notes={notes} isWrong={complaint !== undefined} onInput={onInput} />
      {rest}
    </div>
  )
}

interface InputProps {
  readonly spec: FieldSpec
  readonly id: string
  readonly notes: string
  readonly isWrong: boolean
  readonly onInput: ((value: string) => void) | undefined
}

function Input({ spec, id, notes, isWrong, onInput }: InputProps) {
  const shared = {
    id,
    name: spec.name,
    required: spec.isRequired,
    'aria-describedby': notes === '' ? undefined : notes,
    'aria-invalid': isWrong || undefined,
  }
  const report = (event: { currentTarget: { value: string } }): void => onInput?.(event.currentTarget.value)
  const controlled =
    onInput === undefined ? { defaultValue: spec.value } : { value: spec.value ?? '', onInput: report }
  const written = { ...shared, ...controlled, placeholder: spec.placeholder, readOnly: spec.isFixed }
  if (spec.kind === 'area') return <textarea {...written} rows={4} spellcheck={false} />
  if (spec.kind === 'select') {
    return spec.useFound === undefined ? (
      <select {...shared} onChange={report}>
        <Options of={spec.options ?? []} chosen={spec.value ?? ''} />
      </select>
    ) : (
      <SearchedSelect shared={shared} spec={spec} useFound={spec.useFound} onInput={onInput} />
    )
  }
  const typed = { ...written, ...TYPED }
  if (spec.kind === 'date') return <input {...typed} type="date" />
  if (spec.kind === 'file') return <input {...shared} type="file" accept={spec.accept} />
  if (spec.kind === 'secret') return <input {...typed} type="password" />
  if (spec.useFound !== undefined) {
    return <SearchedInput typed={typed} id={id} useFound={spec.useFound} onInput={onInput} />
  }
  if (spec.suggestions === undefined) return <input {...typed} type="text" />
  return (
    <>
      <input {...typed} list={`${id}-list`} />
      <datalist id={`${id}-list`}>
        {spec.suggestions.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
    </>
  )
}

interface SearchProps {
  readonly useFound: (part: string) => Found
  readonly onInput: ((value: string) => void) | undefined
}

/** A text field with suggestions for the typed text. */
function SearchedInput({ typed, id, useFound, onInput }: SearchProps & { typed: object; id: string }) {
  const [part, setPart] = useState('')
  const { options } = useFound(part)
  return (
    <>
      <input
        {...typed}
        list={`${id}-list`}
        onInput={({ currentTarget: { value } }) => {
          setPart(value)
          onInput?.(value)
        }}
      />
      <datalist id={`${id}-list`}>
        <Options of={options} />
      </datalist>
    </>
  )
}

/** A choice among matches. The part to search for can be typed if there are too many options. */
function SearchedSelect(props: SearchProps & { shared: object; spec: FieldSpec }) {
  const { shared, spec, useFound, onInput } = props
  const [part, setPart] = useState('')
  const [chosen, setChosen] = useState<Option>()
  const { options, isMore } = useFound(part)
  const given = spec.options ?? []
  // The chosen value stays chosen even if it does not match the text typed afterwards.
  const kept = [...given, ...(chosen === undefined || onInput !== undefined ? [] : [chosen])]
  const all = new Map([...kept, ...options].map((option) => [option.value, option]))
  return (
    <>
      {(isMore || part !== '') && (
        <input
          {...TYPED}
          type="search"
          aria-label={`Search: ${spec.label}`}
          placeholder="Part of its name or id"
          value={part}
          onInput={({ currentTarget: { value } }) => setPart(value)}
          onKeyDown={(event) => {
            // This input is not a field of the form and must not submit it.
            if (event.key === 'Enter') event.preventDefault()
          }}
        />
      )}
      <select
        {...shared}
        onChange={({ currentTarget: { value } }) => {
          setChosen(all.get(value))
          onInput?.(value)
        }}
      >
        <Options
          of={[...all.values()]}
          chosen={(onInput === undefined ? chosen?.value : undefined) ?? spec.value ?? ''}
        />
      </select>
    </>
  )
}

const TYPED = { autocomplete: 'off', spellcheck: false } as const

function Options({ of, chosen }: { of: readonly Option[]; chosen?: string }) {
  return (
    <>
      {of.map(({ value, label }) => (
        <option key={value} value={value} selected={value === chosen}>
          {label}
        </option>
      ))}
    </>
  )
}

function Checks({ spec, id, rest }: { spec: FieldSpec; id: string; rest: ComponentChildren }) {
  return (
    <fieldset class="field" id={id}>
      <legend>{spec.label}</legend>
      <div class="check-list">
        {spec.options?.map(({ value, label }) => (
          <label key={value}>
            <input
              type="checkbox"
              name={spec.name}
              value={value}
              defaultChecked={spec.values?.includes(value) ?? false}
            />{' '}
            {label}
          </label>
        ))}
        {spec.options?.length === 0 && <span class="hint">There is nothing to choose from yet.</span>}
      </div>
      {rest}
    </fieldset>
  )
}

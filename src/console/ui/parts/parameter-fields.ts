import type { Values } from './dialogs.js'
import type { FieldSpec } from './fields.js'
import { list } from './read-values.js'

/** Which parameters a model or a route takes: those that are listed, or where none is, either all or none. */
export function parameterFields(
  supported: readonly string[] | undefined,
  hint: string,
): readonly FieldSpec[] {
  return [
    {
      name: 'supportedParameters',
      label: 'Parameters that it takes',
      kind: 'area',
      value: supported?.join(', '),
      hint,
    },
    {
      name: 'takesWithoutList',
      label: 'Where none is listed',
      kind: 'select',
      value: supported?.length === 0 ? 'none' : 'all',
      options: [
        { value: 'all', label: 'it takes all' },
        { value: 'none', label: 'it takes none' },
      ],
    },
  ]
}

/** Undefined where all are taken. */
export function readParameters(values: Values): readonly string[] | undefined {
  const listed = list(values, 'supportedParameters')
  return listed.length > 0 || values.text('takesWithoutList') === 'none' ? listed : undefined
}

import type { Values } from './dialogs.js'
import type { FieldSpec } from './fields.js'
import { list } from './read-values.js'

/** The parameters that a model or a route accepts: those in a list, or all or none if the list is empty. */
export function parameterFields(
  supported: readonly string[] | undefined,
  hint: string,
): readonly FieldSpec[] {
  return [
    {
      name: 'supportedParameters',
      label: 'Supported parameters',
      kind: 'area',
      value: supported?.join(', '),
      hint,
    },
    {
      name: 'takesWithoutList',
      label: 'If none is listed',
      kind: 'select',
      value: supported?.length === 0 ? 'none' : 'all',
      options: [
        { value: 'all', label: 'it accepts all' },
        { value: 'none', label: 'it accepts none' },
      ],
    },
  ]
}

/** Returns undefined if all are accepted. */
export function readParameters(values: Values): readonly string[] | undefined {
  const listed = list(values, 'supportedParameters')
  return listed.length > 0 || values.text('takesWithoutList') === 'none' ? listed : undefined
}

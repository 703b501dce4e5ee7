import type { AppView } from '../../protocol.js'
import { basisPointsOf, percentOf } from '../base/format.js'
import { Problem } from '../base/problem.js'
import type { Values } from './dialogs.js'
import { type FieldSpec, selectField } from './fields.js'
import { list, needed } from './read-values.js'
import { EVERY_MODEL } from './values.js'

type AppFields = Pick<
  AppView,
  'id' | 'name' | 'markup' | 'allowedModels' | 'redirectUris' | 'site' | 'suggestedCap' | 'testers'
>

/** The fields of an app that its owner and an operator write. */
export function appFields(app: AppFields | undefined, known: readonly string[]): readonly FieldSpec[] {
  const allowed = app?.allowedModels ?? known
  const listed = allowed === 'all' ? known : allowed
  return [
    {
      name: 'id',
      label: 'Id',
      isRequired: true,
      value: app?.id,
      isFixed: app !== undefined,
      hint: 'Its client id for OAuth. It stays as it is.',
    },
    { name: 'name', label: 'Name', value: app?.name, hint: 'Users see it when they connect the app.' },
    {
      name: 'markup.basisPoints',
      label: 'Markup, percent of the base',
      isRequired: true,
      value: app === undefined ? '0' : percentOf(app.markup.basisPoints),
    },
    { name: 'markup.flat', label: 'Markup, credits per call', value: app?.markup.flat },
    selectField('models', 'Models that it may use', allowed === 'all' ? 'all' : 'listed', {
      listed: 'those chosen below',
      all: EVERY_MODEL,
    }),
    {
      name: 'allowedModels',
      label: 'Chosen models',
      kind: 'checks',
      options: [...new Set([...known, ...listed])].map((id) => ({ value: id, label: id })),
      values: listed,
    },
    {
      name: 'redirectUris',
      label: 'Redirect URIs',
      kind: 'area',
      value: app?.redirectUris?.join('\n'),
      hint: 'One on each line: https, or http on 127.0.0.1, [::1] or localhost. Users can connect an app that has one.',
    },
    { name: 'site', label: 'Site', value: app?.site, placeholder: 'https://notes.example/' },
    {
      name: 'suggestedCap',
      label: 'Suggested cap, credits',
      value: app?.suggestedCap,
      hint: 'For each period of the host. The consent page fills it in.',
    },
    {
      name: 'testers',
      label: 'Accounts that may connect it while it is in test',
      kind: 'area',
      value: app?.testers?.join('\n'),
      hint: 'One on each line, at most 10.',
    },
  ]
}

export function readAppFields(values: Values): AppFields {
  const basisPoints = basisPointsOf(needed(values, 'markup.basisPoints'))
  if (basisPoints === undefined) {
    throw new Problem('This must be a number with at most two places, such as 20 or 2.5.', {
      field: 'markup.basisPoints',
    })
  }
  const redirectUris = list(values, 'redirectUris')
  const testers = list(values, 'testers')
  return {
    id: needed(values, 'id'),
    name: values.text('name'),
    markup: { basisPoints, flat: values.text('markup.flat') },
    allowedModels: values.text('models') === 'all' ? 'all' : values.all('allowedModels'),
    redirectUris: redirectUris.length === 0 ? undefined : redirectUris,
    site: values.text('site'),
    suggestedCap: values.text('suggestedCap'),
    testers: testers.length === 0 ? undefined : testers,
  }
}

const LOGO_FIELD: FieldSpec = {
  name: 'logo',
  label: 'Picture',
  kind: 'file',
  accept: 'image/png,image/jpeg,image/webp',
  hint: 'PNG, JPEG or WebP, at most 32 KiB and 512 pixels. Without one, the present logo is removed.',
}

/**
 * The form for an app's logo. `save` receives the picture in base64, or null if none was chosen, and returns the
 * announcement.
 */
export function logoForm(name: string, save: (logo: string | null) => Promise<string>) {
  return {
    title: `Logo of ${name}`,
    action: 'Save',
    fields: [LOGO_FIELD],
    run: async (values: Values) => save(await readLogo(values)),
  }
}

async function readLogo(values: Values): Promise<string | null> {
  const file = values.file('logo')
  if (file === undefined) return null
  const bytes = new Uint8Array(await file.arrayBuffer())
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

import type { ModelRequest } from '../../admin/index.js'
import { readJsonFile } from '../context/parse.js'
import type { Noun } from './noun.js'

export const models: Noun = {
  about: 'the models on offer and their prices',
  verbs: {
    'put <file>': (command, context) =>
      command
        .description('add or replace models from JSON, one or a list; - reads standard input')
        .action(async (path: string) => {
          const read = await readJsonFile<ModelRequest | ModelRequest[]>(path, context)
          if (Array.isArray(read) && read.length === 0) throw new Error('The list has no models')
          const admin = await context.admin()
          for (const [position, model] of [read].flat().entries()) {
            await admin.models.put(model).catch((cause: Error) => {
              if (!Array.isArray(read)) throw cause
              throw new Error(`Item ${position + 1} of the list: ${cause.message}`, { cause })
            })
            context.say(`${model.id} is in the catalogue`)
          }
        }),

    'remove <model>': (command, context) =>
      command.description('remove a model from the catalogue').action(async (id: string) => {
        const known = await (await context.admin()).models.remove(id)
        if (!known) throw new Error(`There is no model ${id}`)
        context.say(`${id}: removed`)
      }),

    list: (command, context) =>
      command.description('list all models').action(async () => {
        const rows = await (await context.reader()).models.list()
        context.show(
          rows,
          rows.map((model) => ({
            model: model.id,
            input: model.prices?.input,
            output: model.prices?.output,
            context: model.contextLength,
            version: model.priceVersion,
          })),
        )
      }),
  },
}

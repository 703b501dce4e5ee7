export { isSearch } from '../sql/entries.js'

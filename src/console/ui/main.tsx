import { render } from 'preact'
import { App } from './app.js'
import './styles/tokens.css'
import './styles/base.css'
import './styles/parts.css'
import './styles/tables.css'
import './styles/pages.css'

render(<App />, document.getElementById('console')!)

// A stand-in of the editor for extension.js: node FILE EXTENSION SETTINGS prints what the extension registers and
// answers, as JSON.
const Module = require("module");
const registered = {};
const settings = JSON.parse(process.argv[3]);
const vscode = {
  workspace: { getConfiguration: () => ({ get: () => settings.python }) },
  extensions: {
    getExtension: () => settings.interpreter && {
      isActive: true,
      exports: { environments: {
        getActiveEnvironmentPath: () => ({ path: settings.interpreter }),
        resolveEnvironment: async (chosen) => ({ executable: { uri: { fsPath: chosen.path } } }),
      } },
    },
  },
  window: {
    activeTextEditor: settings.language && { document: { languageId: settings.language } },
    showErrorMessage: async (text) => { registered.error = text; },
  },
  DebugAdapterExecutable: class {
    constructor(command, args, options) {
      Object.assign(this, { command, args, options });
    }
  },
  debug: {
    registerDebugConfigurationProvider: (type, provider) => { registered.configurations = provider; return {}; },
    registerDebugAdapterDescriptorFactory: (type, factory) => { registered.adapters = factory; return {}; },
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const context = { subscriptions: [] };
require(process.argv[2]).activate(context);
(async () => {
  const session = { configuration: settings.configuration || {}, workspaceFolder: undefined };
  const descriptor = await registered.adapters.createDebugAdapterDescriptor(session);
  const empty = registered.configurations.resolveDebugConfiguration(undefined, {});
  const { resolveDebugConfigurationWithSubstitutedVariables: check } = registered.configurations;
  const checked = await check(undefined, { request: "launch" });
  const kept = await check(undefined, { request: "launch", program: "x.py" });
  const count = context.subscriptions.length;
  const { error } = registered;
  console.log(JSON.stringify({ descriptor, empty, checked: checked === undefined, kept, error, count }));
})();

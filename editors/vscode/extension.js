// Starts `python -m triton_runner debug --dap` for sessions of the type "triton": the debugger is that program, and
// this file only chooses the Python and fills in what a configuration leaves out.
"use strict";

const vscode = require("vscode");

// Of the files that F5 starts without a launch.json; "mlir" is what other extensions call TTIR and TTGIR.
const LANGUAGES = ["python", "ttir", "ttgir", "ptx", "mlir"];

// The Python of a configuration, of the settings, of the Python extension, or the system's.
async function pythonOf(configuration, folder) {
  if (configuration.python) return configuration.python;
  const setting = vscode.workspace.getConfiguration("triton-runner", folder).get("python");
  if (setting) return setting;
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (extension) {
    try {
      if (!extension.isActive) await extension.activate();
      const environments = extension.exports && extension.exports.environments;
      const chosen = environments && environments.getActiveEnvironmentPath(folder && folder.uri);
      const resolved = chosen && (await environments.resolveEnvironment(chosen));
      if (resolved && resolved.executable.uri) return resolved.executable.uri.fsPath;
    } catch (error) {
      console.warn(`triton-runner: the Python extension did not name an interpreter: ${error}`);
    }
  }
  return process.platform === "win32" ? "python" : "python3";
}

const configurations = {
  // F5 without a launch.json: the file that is open.
  resolveDebugConfiguration(folder, configuration) {
    if (configuration.type || configuration.request || configuration.name) return configuration;
    const editor = vscode.window.activeTextEditor;
    if (!editor || !LANGUAGES.includes(editor.document.languageId)) return configuration;
    return { type: "triton", request: "launch", name: "Triton: this file", program: "${file}" };
  },

  resolveDebugConfigurationWithSubstitutedVariables(folder, configuration) {
    if (configuration.request === "launch" && !configuration.program && !configuration.module) {
      return vscode.window
        .showErrorMessage("A configuration of the type triton needs a program, or a module.")
        .then(() => undefined);
    }
    return configuration;
  },
};

const adapters = {
  async createDebugAdapterDescriptor(session) {
    const python = await pythonOf(session.configuration, session.workspaceFolder);
    const folder = session.configuration.cwd || (session.workspaceFolder && session.workspaceFolder.uri.fsPath);
    const options = folder ? { cwd: folder } : {};
    return new vscode.DebugAdapterExecutable(python, ["-m", "triton_runner", "debug", "--dap"], options);
  },
};

function activate(context) {
  context.subscriptions.push(
    vscode.debug.registerDebugConfigurationProvider("triton", configurations),
    vscode.debug.registerDebugAdapterDescriptorFactory("triton", adapters),
  );
}

module.exports = { activate, deactivate() {} };
